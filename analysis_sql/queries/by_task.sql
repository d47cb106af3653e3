-- How many queries of each task does a method answer rightly?
-- Of several runs of a method the sum, in whole numbers, and of how many queries.
--
-- reads   results: dataset, task_set, method, is_reference, task_id, n_correct, n_query
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    task_id,
    CAST(sum(n_correct) AS BIGINT) AS correct,
    CAST(sum(n_query) AS BIGINT)   AS asked
FROM results
GROUP BY dataset, task_set, method, is_reference, task_id
ORDER BY dataset, task_set, is_reference, method, task_id
