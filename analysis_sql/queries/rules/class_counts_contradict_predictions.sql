-- Is class_correct how many queries of each class are right? Of the first set with a contradiction.
SELECT row FROM contradictions WHERE class_correct <> by_class ORDER BY row LIMIT 1;
SELECT
    row,
    "group",
    by_class,
    class_correct,
    CASE WHEN told THEN 'correct' ELSE 'predictions' END AS name,
    count(*) OVER ()                                     AS total
FROM contradictions
WHERE class_correct <> by_class
ORDER BY row
LIMIT 8
