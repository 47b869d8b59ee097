process ABSENTIA_COMPARE {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(views, stageAs: 'data/*'), path(labels), val(label)

    output:
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val(meta), path("${prefix}/table.csv"), emit: table
    tuple val("${task.process}"), val('absentia'), eval("absentia --version"), topic: versions, emit: versions_absentia

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    absentia compare data --labels $labels:$label -o $prefix $args
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir $prefix
    touch $prefix/report.html $prefix/table.csv
    """
}
