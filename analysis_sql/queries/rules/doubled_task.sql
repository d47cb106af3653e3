-- Is a task answered twice?
SELECT "group" FROM incomplete ORDER BY "group";
WITH doubled AS (
    SELECT task_id FROM rows WHERE "group" = $group GROUP BY task_id HAVING count(*) > 1
),
tasks AS (
    SELECT count(*) AS n, list_slice(list_sort(list(task_id)), 1, 8) AS ids FROM doubled
)
SELECT rows.rowid AS row, "group", ids, n, count(*) OVER () AS total
FROM rows, tasks
WHERE "group" = $group AND task_id IN (SELECT task_id FROM doubled)
ORDER BY row
LIMIT 8
