-- How many queries of each task does a method answer rightly?
-- Of several runs of a method the sum, in whole numbers, and of how many queries; where there are
-- no runs, nothing is summed. Validation takes its counts from this view too, of the submission's
-- rows with numbers for names (rules/results.sql), some million rows at once.
--
-- reads   results: dataset, task_set, method, is_reference, run, task_id, n_correct, n_query
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    task_id,
    CAST(n_correct AS BIGINT) AS correct,
    CAST(n_query AS BIGINT)   AS asked
FROM results
WHERE run IS NULL
UNION ALL
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    task_id,
    CAST(sum(n_correct) AS BIGINT) AS correct,
    CAST(sum(n_query) AS BIGINT)   AS asked
FROM results
WHERE run IS NOT NULL
GROUP BY dataset, task_set, method, is_reference, task_id
ORDER BY dataset, task_set, is_reference, method, task_id
