-- In which rows do counts differ from what the predictions give?
-- Positions stand in texts, a byte each, whose differing bytes `hamming` counts. Where the labels
-- of a class are another byte, so many more differ as its queries were answered rightly.
--
-- reads   rows: group, task_id, n_correct, class_correct, predicted
--         groups: group, set, way, n_query
--         labels: set, task_id, query_label
WITH without_class AS (
    SELECT
        "set",
        task_id,
        query_label,
        list_transform(
            range(way), lambda k: translate(query_label, chr(CAST(k AS INTEGER)), chr(127))
        ) AS others
    FROM labels
    JOIN (SELECT "set", any_value(way) AS way FROM groups GROUP BY "set") USING ("set")
),
counted AS (
    SELECT
        r.rowid AS row,
        "group",
        "set",
        n_correct,
        class_correct,
        g.n_query - hamming(predicted, query_label) AS counted,
        CASE WHEN class_correct IS NOT NULL THEN list_transform(
            others, lambda o: hamming(predicted, o) - hamming(predicted, query_label)
        ) END AS by_class
    FROM rows AS r
    JOIN groups AS g USING ("group")
    JOIN without_class USING ("set", task_id)
    WHERE predicted IS NOT NULL
)
SELECT *
FROM counted
WHERE counted <> n_correct OR class_correct <> by_class
ORDER BY row
