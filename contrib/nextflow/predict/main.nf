process ABSENTIA_PREDICT {
    tag "$meta.id"
    label 'process_low'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(model), path(views, stageAs: 'data/*')

    output:
    tuple val(meta), path("*.csv"), emit: predicted
    tuple val("${task.process}"), val('absentia'), eval("absentia --version"), topic: versions, emit: versions_absentia

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    absentia predict $model data -o ${prefix}.csv --threads $task.cpus $args
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.csv
    """
}
