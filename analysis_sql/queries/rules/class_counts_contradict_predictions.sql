-- Is class_correct how many queries of each class are right? Of the first set with a contradiction.
SELECT row, "group", name, by_class, class_correct, count(*) OVER () AS total
FROM contradictions
WHERE class_correct <> by_class
ORDER BY row
LIMIT 8
