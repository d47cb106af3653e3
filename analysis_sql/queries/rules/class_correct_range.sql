-- Do the lists of class_correct hold numbers of a class's queries only?
SELECT "group"
FROM (SELECT "group", unnest(class_correct) AS value FROM rows)
JOIN groups USING ("group")
GROUP BY "group", query
HAVING min(value) < 0 OR max(value) > query
ORDER BY "group"
LIMIT 1;
SELECT
    r.rowid             AS row,
    "group",
    CASE
        WHEN list_min(class_correct) < 0 THEN list_min(class_correct) ELSE list_max(class_correct)
    END                 AS worst,
    count(*) OVER ()    AS total
FROM rows AS r
JOIN groups USING ("group")
WHERE list_min(class_correct) < 0 OR list_max(class_correct) > query
ORDER BY row
LIMIT 8
