-- Which rows break a rule about their numbers? Of the broken rules only the first:
-- 1 n_query is the number of the task's queries; 2 the task set has such a task; 3 n_correct is a
-- number of the task's queries.
--
-- reads   rows: group, task_id, n_correct, n_query
--         groups: group, n_tasks
--         rows or groups: queries, NULL where nobody knows the task
WITH broken AS (
    SELECT
        r.rowid AS row,
        task_id,
        n_correct,
        n_query,
        queries,
        CASE
            WHEN n_query <> queries THEN 1
            WHEN task_id < 0 OR task_id >= n_tasks THEN 2
            WHEN n_correct < 0 OR n_correct > queries THEN 3
        END     AS rule
    FROM rows AS r
    JOIN groups USING ("group")
    WHERE rule IS NOT NULL
)
SELECT row, task_id, n_correct, n_query, queries, rule
FROM broken
WHERE rule = (SELECT min(rule) FROM broken)
ORDER BY row
