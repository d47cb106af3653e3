-- Which classes does a method find hard?
-- Mean accuracy on the queries of each class, in percentage points, over the tasks that use it,
-- from results that have counts by class.
--
-- reads   results: dataset, task_set, method, task_id, n_query, class_correct
--         tasks: dataset, task_set, task_id, class_ids, query_label
--         classes: dataset, class_id, class_name
WITH by_class AS (
    SELECT
        r.dataset,
        r.task_set,
        r.method,
        unnest(t.class_ids)                                AS class_id,
        unnest(r.class_correct)                            AS n_correct,
        unnest(
            CASE WHEN starts_with(r.task_set, 'allway-')
                THEN list_transform(
                    range(len(t.class_ids)),
                    lambda k: len(list_filter(t.query_label, lambda l: l = k))
                )
                ELSE list_transform(t.class_ids, lambda c: r.n_query // len(t.class_ids))
            END
        )                                                  AS n_query
    FROM results AS r
    JOIN tasks AS t USING (dataset, task_set, task_id)
    WHERE r.class_correct IS NOT NULL
)
SELECT
    b.dataset,
    b.task_set,
    b.method,
    c.class_name,
    count(*)                                   AS tasks,
    100.0 * sum(b.n_correct) / sum(b.n_query)  AS accuracy
FROM by_class AS b
JOIN classes AS c USING (dataset, class_id)
GROUP BY b.dataset, b.task_set, b.method, b.class_id, c.class_name
ORDER BY b.dataset, b.task_set, b.method, accuracy, c.class_name
