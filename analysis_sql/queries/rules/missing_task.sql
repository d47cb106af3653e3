-- Is every task answered, of the whole set or of the first ones that the metadata declares?
SELECT "group" FROM incomplete ORDER BY "group";
WITH missing AS (
    SELECT task_id
    FROM (SELECT unnest(range(expected)) AS task_id FROM groups WHERE "group" = $group)
    WHERE task_id NOT IN (SELECT task_id FROM rows WHERE "group" = $group)
)
SELECT
    CAST($group AS INTEGER)                       AS "group",
    count(*)                                      AS n,
    list_slice(list_sort(list(task_id)), 1, 8)    AS ids
FROM missing
HAVING n > 0
ORDER BY "group"
