-- Has the task set such a task?
SELECT "group"
FROM group_facts
JOIN groups USING ("group")
WHERE first_task < 0 OR last_task >= n_tasks
ORDER BY "group"
LIMIT 1;
WITH outside AS (
    SELECT r.rowid AS row, "group", task_id
    FROM rows AS r
    JOIN groups USING ("group")
    WHERE task_id < 0 OR task_id >= n_tasks
),
tasks AS (
    SELECT count(DISTINCT task_id) AS n, list_slice(list_sort(list(DISTINCT task_id)), 1, 8) AS ids
    FROM outside
)
SELECT row, "group", ids, n, count(*) OVER () AS total
FROM outside, tasks
ORDER BY row
LIMIT 8
