process ABSENTIA_FIT {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(views, stageAs: 'data/*'), path(labels), val(label)

    output:
    tuple val(meta), path("*.absentia"), emit: model
    tuple val(meta), path("*.html"), emit: report
    tuple val("${task.process}"), val('absentia'), eval("absentia --version"), topic: versions, emit: versions_absentia

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    absentia fit data --labels $labels:$label -o ${prefix}.absentia --threads $task.cpus $args
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.absentia ${prefix}.html
    """
}
