-- Do the lists of predictions hold positions of the task's classes only?
SELECT "group"
FROM (SELECT "group", unnest(predictions) AS value FROM rows)
JOIN groups USING ("group")
GROUP BY "group", way
HAVING min(value) < 0 OR max(value) >= way
ORDER BY "group"
LIMIT 1;
SELECT
    r.rowid             AS row,
    "group",
    CASE
        WHEN list_min(predictions) < 0 THEN list_min(predictions) ELSE list_max(predictions)
    END                 AS worst,
    count(*) OVER ()    AS total
FROM rows AS r
JOIN groups USING ("group")
WHERE list_min(predictions) < 0 OR list_max(predictions) >= way
ORDER BY row
LIMIT 8
