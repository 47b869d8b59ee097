process ABSENTIA_COMPARE {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(views, stageAs: 'data/*'), path(labels), val(label)

    output:
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val(meta), path("${prefix}/table.csv"), emit: table
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    absentia compare data --labels $labels:$label -o $prefix $args

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        absentia: \$(absentia --version)
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir $prefix
    touch $prefix/report.html $prefix/table.csv

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        absentia: \$(absentia --version)
    END_VERSIONS
    """
}
