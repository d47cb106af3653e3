-- Does every task lie within those that the metadata declares?
SELECT "group" FROM incomplete ORDER BY "group";
WITH beyond AS (
    SELECT DISTINCT task_id
    FROM rows
    JOIN groups USING ("group")
    WHERE "group" = $group AND task_id >= expected
)
SELECT
    CAST($group AS INTEGER)                       AS "group",
    count(*)                                      AS n,
    list_slice(list_sort(list(task_id)), 1, 8)    AS ids
FROM beyond
HAVING n > 0
ORDER BY "group"
