-- Which classes does a method find hard?
-- Mean accuracy on the queries of each class, in percentage points, over the tasks that use it,
-- from results that have counts by class, or say which queries are right.
--
-- reads   results: dataset, task_set, method, task_id, class_correct, correct, predictions
--         tasks: dataset, task_set, task_id, class_ids, query_label
--         classes: dataset, class_id, class_name
WITH asked AS (
    SELECT
        dataset,
        task_set,
        task_id,
        class_ids,
        query_label,
        list_transform(
            range(len(class_ids)),
            lambda k: len(list_filter(query_label, lambda l: l = k))
        ) AS n_query
    FROM tasks
),
counted AS (
    SELECT
        r.dataset,
        r.task_set,
        r.method,
        r.task_id,
        t.class_ids,
        t.n_query,
        coalesce(r.class_correct, list_transform(
            range(len(t.class_ids)),
            lambda k: len(list_filter(
                list_zip(t.query_label, coalesce(r.correct, list_transform(
                    list_zip(t.query_label, r.predictions), lambda q: (q[1] = q[2])::TINYINT
                ))),
                lambda q: q[1] = k AND q[2] = 1
            ))
        )) AS n_correct
    FROM results AS r
    JOIN asked AS t USING (dataset, task_set, task_id)
    WHERE coalesce(r.class_correct, r.correct, r.predictions) IS NOT NULL
),
by_class AS (
    SELECT
        dataset,
        task_set,
        method,
        task_id,
        unnest(class_ids)  AS class_id,
        unnest(n_correct)  AS n_correct,
        unnest(n_query)    AS n_query
    FROM counted
)
SELECT
    b.dataset,
    b.task_set,
    b.method,
    c.class_name,
    count(DISTINCT b.task_id)                  AS tasks,
    100.0 * sum(b.n_correct) / sum(b.n_query)  AS accuracy
FROM by_class AS b
JOIN classes AS c USING (dataset, class_id)
GROUP BY b.dataset, b.task_set, b.method, b.class_id, c.class_name
ORDER BY b.dataset, b.task_set, b.method, accuracy, c.class_name
