// Shows what the page holds: picks, sorts and draws numbers that are there; choices are kept in the address.
const $ = (id) => document.getElementById(id);
const packed = Uint8Array.from(atob($("content").textContent), (c) => c.charCodeAt(0));
const content = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
const SHOWN_ROWS = 200;
const GLYPHS = { "+": "▲", "-": "▼", 0: "·", "=": "=", "?": "?", " ": " " };
const CLASSES = { "+": "better", "-": "worse" };
const MIRRORED = { "+": "-", "-": "+" };
const BOTH = "both"; // the kinds that people read first: thick and thin lines

// ---- elements and numbers

const NS = "http://www.w3.org/2000/svg";
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== "") element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(NS, tag), attributes, children);
const titled = (text) => svg("title", {}, text);
const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
const fixed = (x) => (Math.abs(x) >= 0.005 || x === 0 ? x.toFixed(2) : x.toPrecision(2));
const signed = (x) => x.toFixed(2).replace(/^-?(?=0\.00$)|^(?=\d)/, "+"); // never -0.00
const percent = (level) => `${+(100 * level).toPrecision(8)} %`;
const taskCount = (tasks) => {
  const low = Math.min(...tasks), high = Math.max(...tasks);
  return low === high ? `T = ${low} task${low === 1 ? "" : "s"}` : `T = ${low} to ${high} tasks`;
};

// ---- what is chosen

const FIELDS = ["dataset", "shot", "task_set", "a", "b", "level", "interval", "scope", "filter", "sort", "order", "ladder"];
const state = {};
const fslbench = { rows: {} }; // for whoever measures or scripts the page
let shownDataset = "";
const setsOf = (dataset) => content.sets.filter((set) => set.dataset === dataset);
const current = () => content.sets.find((set) => set.dataset === state.dataset && set.task_set === state.task_set);
const named = (set, row) => content.methods[set.members[row]];
const chosenNames = (set) => set.chosen.map((row) => named(set, row));
const choose = (known, wanted, fallback) => (known.includes(wanted) ? wanted : known.includes(fallback) ? fallback : known[0]);
function settle(wanted) { // every field has a value that there is
  const datasets = [...new Set(content.sets.map((set) => set.dataset))];
  const opens = content.sets.find((set) => `${set.dataset}/${set.task_set}` === content.opens.set);
  state.dataset = choose(datasets, wanted.dataset, opens?.dataset);
  const shots = [...new Set(setsOf(state.dataset).map((set) => String(set.shot)))];
  const asked = setsOf(state.dataset).find((set) => set.task_set === wanted.task_set);
  state.shot = asked ? String(asked.shot) : choose(shots, wanted.shot, String(opens?.shot));
  const sets = setsOf(state.dataset).filter((set) => String(set.shot) === state.shot).map((set) => set.task_set);
  const suite = (wanted.task_set || state.task_set || "").split("-")[0];
  state.task_set = choose(sets, wanted.task_set, sets.find((name) => name.split("-")[0] === suite) || sets.find((name) => content.opens.sets.includes(`${state.dataset}/${name}`)));
  const set = current();
  const methods = chosenNames(set);
  const mean = (name) => set.mean[set.chosen[methods.indexOf(name)]];
  const best = (some) => some.reduce((p, q) => (mean(q) > mean(p) ? q : p));
  state.a = choose(methods, wanted.a, methods.includes(content.opens.method) ? content.opens.method : best(methods));
  const others = methods.filter((name) => name !== state.a);
  state.b = others.length ? choose(others, wanted.b, others.includes(content.opens.versus) ? content.opens.versus : best(others)) : "";
  state.level = choose(content.levels.map(String), wanted.level, String(content.level));
  const intervals = set.kinds.length > 1 ? [BOTH, ...set.kinds] : [BOTH];
  state.interval = choose(intervals, wanted.interval);
  state.scope = choose([...$("scope").options].map((option) => option.value), wanted.scope);
  for (const field of ["filter", "sort", "order"]) state[field] = wanted[field] || "";
  const ladders = content.ladders.map((each) => each.name);
  const changed = wanted.dataset !== shownDataset && ladders.find((name) => name.startsWith(`${state.dataset}/`));
  state.ladder = choose(ladders, changed && shownDataset ? changed : wanted.ladder, changed) || "";
  shownDataset = state.dataset;
  return { dataset: datasets, shot: shots, task_set: sets, a: methods, b: others, level: content.levels.map(String), interval: intervals, ladder: ladders };
}
function address() {
  const said = new URLSearchParams();
  for (const field of FIELDS) if (state[field]) said.set(field, state[field]);
  history.replaceState(null, "", `#${said}`);
}
const fromAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
function update(changes = {}, { keep = true, afresh = false } = {}) {
  const there = settle(afresh ? changes : { ...state, ...changes });
  if (keep) address();
  const kind = (each) => (each === BOTH ? current().shown.slice(0, 2).map((one) => content.kinds[one].about).join(" and ") : `${each}: ${content.kinds[each].about}`);
  const texts = { level: percent, interval: kind };
  for (const [field, values] of Object.entries(there)) {
    const select = $(field === "ladder" ? "ladder-name" : field);
    select.replaceChildren(...values.map((each) => new Option(texts[field] ? texts[field](each) : each, each)));
    select.value = state[field];
  }
  $("scope").value = state.scope;
  if ($("filter").value !== state.filter) $("filter").value = state.filter;
  $("signature").textContent = content.signature[state.level];
  const answers = document.querySelectorAll("#answer > div");
  for (const each of answers) each.hidden = answers.length > 1 && +each.dataset.level !== +state.level;
  for (const show of [showVerdict, showComparisons, showScatter, showConclusive, showAccuracies, showMatrix, showLadder]) show();
}

// ---- comparisons

const drawn = (set) => (set.kinds.includes(state.interval) ? [state.interval] : set.shown.slice(0, 2)); // thick, thin
const claimOf = (kind) => content.kinds[kind].claim;
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
function comparison(set, i, j) { // of the chosen methods at places i and j, what is there of i minus j
  const turn = i > j, n = set.chosen.length;
  const [low, high] = turn ? [j, i] : [i, j];
  const k = low * n - (low * (low + 1)) / 2 + (high - low - 1); // of the upper triangle
  const at = set.at[state.level];
  const by = (table, value) => Object.fromEntries(Object.entries(table).map(([key, values]) => [key, value(values)]));
  return {
    dataset: set.dataset, task_set: set.task_set, method: named(set, set.chosen[i]), versus: named(set, set.chosen[j]), T: set.pair_tasks[k], r: set.r[k],
    value: turn && set.diff[k] !== null ? -set.diff[k] + 0 : set.diff[k],
    half: by(at.pairs, (values) => values[k]),
    verdicts: by(at.claims, (signs) => (turn ? own(MIRRORED, signs[k]) : null) || signs[k]),
    reason: own(at.reason, k) || "", set,
  };
}
function pairsOf(set, first = null, second = null) { // all, or those of one method or two
  const names = chosenNames(set), found = [];
  const [a, b] = [names.indexOf(first), names.indexOf(second)];
  if (first !== null) return a < 0 || (second !== null && b < 0) ? [] : names.map((_, j) => j).filter((j) => j !== a && (second === null || j === b)).map((j) => comparison(set, a, j));
  for (let i = 0; i < names.length; i++) for (let j = i + 1; j < names.length; j++) found.push(comparison(set, i, j));
  return found;
}
const chosenPair = () => pairsOf(current(), state.a, state.b)[0];
const spoken = (c) => c.set.shown.find((kind) => c.verdicts[claimOf(kind)] !== " ") || c.set.carried; // runs that stopped themselves have the carried kind alone
const verdictName = (sign) => own(content.verdicts, sign) || "not there";
const verdictNames = (c) => Object.entries(c.verdicts).map(([claim, sign]) => `${claim}: ${verdictName(sign)}`).join("; ");
function showVerdict() {
  const set = current(), c = state.b ? chosenPair() : null;
  if (!c) { $("verdict").textContent = `${state.a} is alone on ${set.dataset}/${set.task_set}.`; return; }
  const kinds = set.shown.filter((kind) => c.verdicts[claimOf(kind)] !== " ");
  const texts = (kinds.length ? kinds : [set.carried]).map((kind) => {
    const half = c.half[kind], size = half === null ? "" : ` (${signed(c.value)}${half === 0 ? " points on every task" : ` ± ${fixed(half)} points`})`;
    return `for ${content.kinds[kind].about} ${verdictName(c.verdicts[claimOf(kind)])}${size}`;
  });
  $("verdict").textContent = `On ${set.dataset}/${set.task_set}, ${taskCount([c.T])}, ${state.a} compared with ${state.b}, ${percent(state.level)}: ${texts.join(", ")}${c.reason ? `; ${c.reason}` : ""}. ${set.at[state.level].note}`.trim();
}

// ---- tables

const text = (name, value = (row) => row[name]) => ({ name, value, cell: (row) => breakable(value(row)) });
const number = (name, value, shown = (x) => x.toFixed(2)) => ({ name, value, number: true, cell: (row) => [value(row) === null ? "" : shown(value(row))] });
const sign = (claim) => ({ name: claim, value: (row) => own(row.verdicts, claim) ?? "", verdict: true, cell(row) {
  const value = this.value(row).trim(), name = value && verdictName(value);
  return value ? [html("span", { role: "img", "aria-label": name, title: name }, GLYPHS[value])] : [];
} });
const lines = (row) => drawn(row.set).map((kind) => row.half[kind] ?? null); // half-widths, thick and thin
function bars(name, rows, zero, colour) { // intervals on one scale
  const ends = rows.filter((row) => row.value !== null).flatMap((row) => lines(row).flatMap((half) => [row.value - half, row.value + half])).concat(zero ? [0] : []);
  const low = Math.min(...ends), high = Math.max(...ends), x = (value) => 8 + (204 * (value - low)) / (high - low || 1);
  const line = (from, to, attributes) => svg("line", { x1: x(from), x2: x(to), y1: 8, y2: 8, ...attributes });
  const heading = ends.length ? ` (${fixed(low)} to ${fixed(high)})` : "";
  return { name, heading, cell: (row) => (row.value === null ? [] : [svg("svg", { viewBox: "0 0 220 16", width: 220, height: 16, class: colour(row), "aria-hidden": "true" },
    ...(zero ? [svg("line", { x1: x(0), x2: x(0), y1: 0, y2: 16, class: "zero" })] : []),
    ...lines(row).flatMap((half, i) => (half === null ? [] : [line(row.value - half, row.value + half, { "stroke-width": i ? 1.2 : 4 })])),
    svg("circle", { cx: x(row.value), cy: 8, r: 4 }))]) };
}
const limits = {};
function sorted(columns, rows, order) {
  const by = columns.find((column) => column.value && column.name === order.slice(1)), turn = order[0] === "-" ? -1 : 1;
  const compare = (p, q) => (p === q ? 0 : p === null || p === "" ? 2 * turn : q === null || q === "" ? -2 * turn : p < q ? -1 : 1); // what is missing comes last
  return by ? [...rows].sort((p, q) => turn * compare(by.value(p), by.value(q))) : rows;
}
const SHARED = ["dataset", "task_set", "method", "T"];
function showTable(id, field, columns, rows, more = false) {
  rows = sorted(columns, rows, state[field]);
  fslbench.rows[id] = rows;
  limits[id] = more ? limits[id] + 1000 : SHOWN_ROWS;
  const shared = rows.length > 1 ? columns.filter(({ name, value }) => SHARED.includes(name) && rows.every((row) => value(row) === value(rows[0]))) : [];
  const shown = columns.filter((column) => !shared.includes(column));
  const head = shown.map(({ name, heading = "", value, ...column }) => {
    const order = state[field].slice(1) !== name ? "" : state[field][0] === "-" ? "descending" : "ascending";
    const button = html("button", { type: "button", "data-sort": name }, ...name.split("_").flatMap((part, i) => (i ? ["_", html("wbr"), part] : [part])), { ascending: " ↑", descending: " ↓", "": "" }[order]);
    button.addEventListener("click", () => {
      state[field] = (state[field].slice(1) !== name ? (column.number ? "-" : "+") : state[field][0] === "+" ? "-" : "+") + name;
      address();
      showTable(id, field, columns, rows);
      $(id).querySelector(`[data-sort="${CSS.escape(name)}"]`).focus();
    });
    return html("th", { scope: "col", class: column.number ? "number" : "", ...(value ? { "aria-sort": order || "none" } : {}) }, value ? button : name + heading);
  });
  const body = rows.slice(0, limits[id]).map((row) => html("tr", { class: row.versus !== undefined && row.versus === state.b && row.method === state.a ? "chosen" : "" }, ...shown.map((column) =>
    html("td", { class: column.number ? "number" : column.verdict ? `verdict ${own(CLASSES, column.value(row)) || ""}` : ["method", "versus"].includes(column.name) ? "name" : "" }, ...column.cell(row)))));
  const button = html("button", { type: "button" }, "More rows");
  button.addEventListener("click", () => showTable(id, field, columns, rows, true));
  $(id).replaceChildren(html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...body)), ...(rows.length > limits[id] ? [button] : []));
  const same = shared.map(({ name, value }) => `${name} ${value(rows[0])}`).join(", ");
  $(`${id}-rows`).textContent = `${rows.length} row${rows.length === 1 ? "" : "s"}${rows.length > limits[id] ? `, ${limits[id]} shown; CSV holds all` : ""}${same ? `; of all: ${same}` : ""}.`;
  downloads[id] = [columns, rows];
}
const downloads = {};
function download(id) {
  const [columns, rows] = downloads[id], valued = columns.filter(({ value }) => value);
  const field = (value) => (/[",\n\r]/.test(value ?? "") ? `"${value.replaceAll('"', '""')}"` : String(value ?? ""));
  const lines = [valued.map(({ name }) => name), ...rows.map((row) => valued.map(({ value }) => value(row)))].map((cells) => cells.map(field).join(","));
  const link = html("a", { href: URL.createObjectURL(new Blob([[`# ${content.signature[state.level]}`, ...lines, ""].join("\n")], { type: "text/csv" })), download: `${id}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function captioned(id, caption, how) {
  $(`${id}-caption`).replaceChildren(caption, ...(how ? [" In a paper: ", html("code", {}, how)] : []));
}
const quoted = (name) => (/^[\w./+:@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
const all = (set) => set.chosen.length === set.members.length; // what the command draws when no method is named
const command = (kind, dataset, taskSets, methods = []) =>
  [`fslbench plot ${kind}`, content.arguments, `--dataset ${quoted(dataset)}`, ...taskSets.map((name) => `--task-set ${quoted(name)}`),
    ...methods.map((name) => `--method ${quoted(name)}`), ...(+state.level === 0.95 ? [] : [`--level ${state.level}`]),
    `-o ${kind}.pdf`].filter(Boolean).join(" ");
const ofSet = (kind, set, methods) => (state.interval === BOTH ? command(kind, set.dataset, [set.task_set], methods) : ""); // commands draw the kinds that lead
function intervalsCaption(set, tasks, halves) {
  const [thick, thin] = drawn(set);
  return `${percent(state.level)} intervals, ${content.kinds[thick].full}${thin && halves.some((half) => (half[thin] ?? null) !== null) ? `; thin lines: ${content.kinds[thin].full}` : ""}. ${taskCount(tasks)}, ${set.dataset}/${set.task_set}.`;
}
function estimated(rows) { // what intervals of all task sets are for, in the order in which they are read
  const sets = [...new Set(rows.map((row) => row.set))];
  return [...new Set(sets.flatMap((set) => set.kinds.map(claimOf)))];
}
const ofClaim = (row, claim, values) => values[row.set.kinds.find((kind) => claimOf(kind) === claim)] ?? null;
const plusMinusOf = (claim) => number(`± ${claim}`, (row) => ofClaim(row, claim, row.half), fixed);
function showComparisons() {
  const set = current();
  const rows = { method: () => pairsOf(set, state.a), pair: () => content.sets.flatMap((each) => pairsOf(each, state.a, state.b)), set: () => pairsOf(set),
    dataset: () => setsOf(state.dataset).flatMap((each) => pairsOf(each)), all: () => content.sets.flatMap((each) => pairsOf(each)) }[state.scope]();
  if (state.scope === "method") rows.sort((p, q) => q.value - p.value);
  const claims = [...new Set(rows.flatMap((row) => Object.keys(row.verdicts)))];
  const columns = [...["dataset", "task_set", "method", "versus"].map((name) => text(name)), number("difference", (row) => row.value, signed),
    ...estimated(rows).flatMap((claim) => [plusMinusOf(claim), sign(claim)]),
    ...claims.filter((claim) => !estimated(rows).includes(claim)).map(sign), number("T", (row) => row.T, String), text("reason")];
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const line = (row) => ["dataset", "task_set", "method", "versus", "reason"].map((name) => row[name]).join(" ").toLowerCase();
  const kept = words.length ? rows.filter((row) => words.every((word) => line(row).includes(word))) : rows;
  columns.splice(4, 0, bars("interval", kept, true, (row) => own(CLASSES, row.verdicts[claimOf(drawn(row.set)[0])]) || ""));
  showTable("comparisons", "sort", columns, kept);
  const forest = pairsOf(set, state.a);
  if (!forest.length) return captioned("comparisons", "There is no other method: nothing to compare, no interval, T = 0.");
  const alone = forest.length === 1 ? [state.a, state.b] : [state.a];
  return captioned("comparisons", state.scope === "method" ? `${state.a} minus each other method, in points. ${intervalsCaption(set, forest.map((c) => c.T), forest.map((c) => c.half))}` : `Method minus versus, in points, ${percent(state.level)} intervals.`,
    state.scope === "method" && (all(set) || forest.length === 1) ? ofSet("forest", set, alone) : "");
}
function showAccuracies() {
  const set = current(), sets = { method: [set], set: [set], dataset: setsOf(state.dataset) }[state.scope] || content.sets;
  const rows = sets.flatMap((each) => {
    const { half, tied, contest } = each.at[state.level];
    const tie = (kind, row) => (!own(tied, kind)?.length || !contest.includes(row) ? "" : tied[kind][0] === row ? "highest" : tied[kind].includes(row) ? "ns" : "lower");
    return each.members.map((_, row) => ({ dataset: each.dataset, task_set: each.task_set, method: named(each, row), reference: content.reference[each.members[row]] ? "yes" : "no", T: each.tasks[row],
      value: each.mean[row], half: Object.fromEntries(each.kinds.map((kind) => [kind, half[kind][row]])), ties: Object.fromEntries(each.kinds.map((kind) => [kind, tie(kind, row)])),
      reason: each.prefix[row] ? content.prefix : "", set: each })).sort((p, q) => q.value - p.value);
  });
  const claims = estimated(rows);
  const colour = (row) => (/highest|ns/.test(row.ties[drawn(row.set)[0]]) ? "better" : "");
  showTable("accuracies", "order", [...["dataset", "task_set", "method"].map((name) => text(name)), bars("accuracy, %", rows, false, colour), number("mean", (row) => row.value),
    ...claims.map(plusMinusOf), ...claims.map((claim) => text(`best, ${claim}`, (row) => ofClaim(row, claim, row.ties) ?? "")),
    text("reference"), number("T", (row) => row.T, String), text("reason")], rows);
  const { tied, contest } = set.at[state.level], first = Object.values(tied)[0], mine = rows.filter((row) => row.set === set);
  let caption = intervalsCaption(set, mine.map((row) => row.T), mine.map((row) => row.half));
  if (first) {
    const few = (names) => (names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ") || "none");
    const list = drawn(set).filter((kind) => own(tied, kind)).map((kind) => `for ${content.kinds[kind].about}: ${few(tied[kind].slice(1).map((row) => named(set, row)))}`).join("; ");
    caption += ` Highest mean: ${named(set, first[0])}. No significant difference from it at ${percent(state.level)} (Holm over all pairs of the ${contest.length} methods that answered all tasks)${list ? `, ${list}` : ": not computed"}.`;
  }
  captioned("accuracies", caption, ofSet("accuracies", set));
}
function showMatrix() {
  const set = current(), names = chosenNames(set);
  const cell = (i, j) => {
    if (i === j) return html("td");
    const c = comparison(set, i, j), said = verdictNames(c);
    const mark = c.method === state.a && c.versus === state.b ? " chosen" : "";
    return html("td", { class: `${own(CLASSES, c.verdicts[claimOf(drawn(set)[0])]) || ""}${mark}` },
      html("span", { role: "img", "aria-label": said, title: `${c.method} against ${c.versus}. ${said}${c.reason ? `; ${c.reason}` : ""}` }, Object.values(c.verdicts).map((each) => GLYPHS[each]).join("")));
  };
  $("matrix").replaceChildren(html("table", { "aria-labelledby": "matrix-caption" },
    html("thead", {}, html("tr", {}, html("td"), ...names.map((name) => html("th", { scope: "col" }, html("span", {}, name))))),
    html("tbody", {}, ...names.map((name, i) => html("tr", {}, html("th", { scope: "row" }, name), ...names.map((_, j) => cell(i, j)))))));
  $("matrix-caption").textContent = `${set.dataset}/${set.task_set}, ${taskCount([set.T])}, ${percent(state.level)} intervals.`;
  $("claims").textContent = Object.keys(set.at[state.level].claims).join(" · ");
}

// ---- figures

const MARKS = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-4-4h8v8h-8z", "M0-5L5,4H-5z", "M0-6L5,0L0,6L-5,0z", "M0,5L5-4H-5z"];
const mark = (series, size, attributes) => svg("path", { d: MARKS[series % MARKS.length], fill: `var(--series-${1 + (series % 7)})`, transform: `scale(${size})`, ...attributes });
function ticks(low, high) {
  const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => +((Math.ceil(low / step) + i) * step).toPrecision(8));
}
// points: x, y, their ends x0, x1, y0, y1, series (a number), size and title; steps: names on the x axis
function plot(id, points, { label, xTitle = "", yTitle, steps = null, series = [], diagonal = false, joined = [] }, caption, how) {
  const width = Math.max(300, Math.min(640, $(id).clientWidth || 600)), height = 300, left = 50, top = 8, bottom = steps ? 28 : 44;
  const range = (names) => {
    const values = [...points, ...joined.flat()].flatMap((point) => names.map((name) => point[name])).filter(Number.isFinite);
    const low = Math.min(...values), high = Math.max(...values), room = 0.05 * (high - low || 1);
    return [low - room, high + room];
  };
  const both = diagonal ? range(["x", "y"]) : null;
  const [x0, x1] = steps ? [-0.5, steps.length - 0.5] : both || range(["x", "x0", "x1"]), [y0, y1] = both || range(["y", "y0", "y1"]);
  const x = (value) => left + ((width - left - 8) * (value - x0)) / (x1 - x0), y = (value) => top + ((height - top - bottom) * (y1 - value)) / (y1 - y0);
  const line = (from, to, attributes) => svg("line", { x1: x(from[0]), y1: y(from[1]), x2: x(to[0]), y2: y(to[1]), ...attributes });
  const at = (px, py, anchor, words, more = {}) => svg("text", { x: px, y: py, "text-anchor": anchor, ...more }, String(words));
  const colour = (each) => `var(--series-${1 + ((each.series || 0) % 7)})`;
  const shapes = points.length ? [
    ...(steps || ticks(x0, x1)).flatMap((each, i) => [...(steps ? [] : [line([each, y0], [each, y1], { class: "grid" })]), at(x(steps ? i : each), height - bottom + 16, "middle", each)]),
    ...ticks(y0, y1).flatMap((each) => [line([x0, each], [x1, each], { class: "grid" }), at(left - 6, y(each) + 4, "end", each)]),
    at((left + width) / 2, height - 8, "middle", xTitle), at(0, 0, "middle", yTitle, { transform: `translate(12 ${height / 2 - 16}) rotate(-90)` }),
    ...(diagonal ? [line([x0, x0], [x1, x1], { class: "zero" })] : []),
    ...joined.map((some) => svg("polyline", { points: some.map((each) => `${x(each.x)},${y(each.y)}`).join(" "), fill: "none", stroke: colour(some[0]) })),
    ...points.flatMap((each) => [["x0", "x1", "y", "y"], ["x", "x", "y0", "y1"]].filter((ends) => ends.every((end) => Number.isFinite(each[end]))).map(([p, q, r, s]) => line([each[p], each[r]], [each[q], each[s]], { stroke: colour(each) }))),
    ...points.map((each) => svg("g", { transform: `translate(${x(each.x)} ${y(each.y)})` }, titled(each.title), mark(each.shape ?? each.series ?? 0, each.size || 1, { fill: colour(each), "fill-opacity": each.opacity || 1 }))),
  ] : [];
  const legend = series.map((name, i) => html("span", {}, svg("svg", { width: 16, height: 14 }, svg("g", { transform: "translate(8 7)" }, mark(i, 1))), name));
  $(id).replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${label}. ${caption}` }, ...shapes), html("div", { class: "legend" }, ...legend));
  captioned(id, caption, how);
}
function showScatter() {
  const set = current(), c = state.b ? chosenPair() : null, found = new Map();
  const about = { label: "Scatter plot of per-task accuracies", xTitle: "accuracy of the first method on a task, %", yTitle: "accuracy of the second, %", diagonal: true };
  if (!c) return plot("scatter", [], about, "There is no other method: no interval, T = 0.");
  const [p, q] = [state.a, state.b].map((name) => chosenNames(set).indexOf(name));
  for (let t = 0; t < c.T; t++) {
    const [first, second] = [p, q].map((row) => (100 * set.counts[row][t]) / set.unit[row]), key = `${first} ${second}`;
    found.set(key, { first, second, tasks: (found.get(key)?.tasks || 0) + 1 });
  }
  const rows = [...found.values()], most = Math.max(...rows.map((row) => row.tasks));
  fslbench.rows.scatter = rows;
  return plot("scatter", rows.map((row) => ({ x: row.first, y: row.second, opacity: 0.45, size: 0.6 + 1.4 * Math.sqrt(row.tasks / most), title: `${row.first.toFixed(1)}, ${row.second.toFixed(1)}: ${row.tasks} tasks` })), about,
    `Each point: the tasks on which ${state.a} (across) and ${state.b} (up) have these accuracies, the larger the more. Pearson's r = ${c.r}, ${taskCount([c.T])}, no interval.`, ofSet("scatter", set, [state.a, state.b]));
}
function showConclusive() {
  const set = current(), lead = set.shown[0], figure = own(content.conclusive, `${state.dataset} ${lead}`)?.[state.level];
  if (!figure) { $("conclusive").replaceChildren(); return captioned("conclusive", "There is nothing to compare, no interval, T = 0."); }
  fslbench.rows.conclusive = figure.rows;
  $("conclusive").replaceChildren(html("table", {}, html("tbody", {}, ...figure.rows.map((row) => html("tr", {}, html("th", { scope: "row" }, row.kind),
    html("td", {}, svg("svg", { width: 200, height: 12, viewBox: "0 0 200 12", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 2 * row.share, height: 12, fill: "var(--series-1)" }))), html("td", { class: "number" }, row.shown))))));
  const sets = setsOf(state.dataset).filter((each) => each.shown[0] === lead);
  const who = content.reference.some(Boolean) ? "The methods of the results with each other and with the reference methods" : `All pairs of the ${content.chosen.length} methods of this page`;
  return captioned("conclusive", `${who}, uncorrected: ${figure.title}. ${figure.caption}`, sets.every(all) ? command("conclusive", state.dataset, sets.map((each) => each.task_set)) : "");
}
function showLadder() {
  const found = content.ladders.find((each) => each.name === state.ladder);
  if (!found) return;
  const { ladder, worst } = Object.fromEntries(["ladder", "worst"].map((kind) => [kind, found[kind][state.level]]));
  const methods = new Set(ladder.rows.map((row) => row.method)), chosen = [state.a, state.b].filter((name) => methods.has(name));
  const series = chosen.length ? chosen : [ladder.rows[0].method];
  const instead = chosen.length ? "" : ` The chosen methods did not answer it: ${series[0]} is shown.`;
  const steps = [...new Set(ladder.rows.map((row) => row.step))], rows = ladder.rows.filter((row) => series.includes(row.method));
  fslbench.rows.ladder = rows;
  plot("ladder", rows.map((row) => { const i = series.indexOf(row.method), down = row.measure === "wAcc"; return { x: steps.indexOf(row.step) + 0.24 * (i - (series.length - 1) / 2) + (down ? 0.06 : -0.06), y: row.mean, y0: row.low, y1: row.high, series: i, shape: down ? 4 : i,
    title: `${row.method}, ${row.step}, ${row.measure}: ${row.shown}` }; }), { label: "Ladder of attribute-biased tasks", yTitle: "%", steps, series }, `${found.name}: accuracy and worst-class accuracy (wAcc, triangles that point down) by step.${instead} ${ladder.caption}`, command("ladder", found.dataset, [found.task_set], series));
  const others = worst.rows.map((row) => ({ ...row, named: series.includes(row.method) ? row.method : content.others }));
  const legend = [...series, content.others].filter((name) => others.some((row) => row.named === name));
  fslbench.rows.worst = others.sort((p, q) => legend.indexOf(p.named) - legend.indexOf(q.named));
  plot("worst", others.map((row) => ({ x: row.accuracy, x0: row.low, x1: row.high, y: row.worst, y0: row.worst_low, y1: row.worst_high, series: legend.indexOf(row.named), title: `${row.method}: ${fixed(row.accuracy)}, ${fixed(row.worst)}` })),
    { label: "Accuracy against worst-class accuracy", xTitle: "accuracy, %", yTitle: "wAcc, %", series: legend }, `${worst.title}.${instead} ${worst.caption}`, command("worst", found.dataset, [found.task_set], series));
}
function showQueries() {
  const { rows, caption, title, command: how } = content.queries, series = [...new Set(rows.map((row) => row.sweep))];
  fslbench.rows.queries = rows;
  const points = (key) => rows.filter((row) => row[key] !== null).map((row) => ({ x: row.Q, y: row[key], series: series.indexOf(row.sweep), title: `${row.sweep}, ${row.Q}: ${row[key]}` }));
  plot("queries", points("observed"), { label: title, xTitle: "queries a class, Q", yTitle: "half-width, points", series, joined: series.map((_, i) => points("model").filter((each) => each.series === i)).filter((some) => some.length) }, caption, how);
}

// ---- a hard task in pictures: that of the chosen task set, or else of its data set

function picture(name) {
  $("pictured").value = name;
  for (const task of document.querySelectorAll("#pictures .task")) task.hidden = task.dataset.set !== name;
}
function pictureChosen() {
  const names = [...$("pictured").options].map((option) => option.value);
  const name = names.find((each) => each === `${state.dataset}/${state.task_set}`) || names.find((each) => each.startsWith(`${state.dataset}/`));
  if (name) picture(name);
}

// ---- start

$("shot").addEventListener("change", (event) => update({ shot: event.target.value, task_set: "" }));
for (const id of ["dataset", "task_set", "a", "b", "level", "interval", "scope"]) $(id).addEventListener("change", (event) => update({ [id]: event.target.value }));
$("ladder-name").addEventListener("change", (event) => update({ ladder: event.target.value }));
$("filter").addEventListener("input", (event) => { state.filter = event.target.value; address(); showComparisons(); });
$("csv").addEventListener("click", () => download("comparisons"));
$("accuracies-csv").addEventListener("click", () => download("accuracies"));
$("choices").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => update(fromAddress(), { keep: false, afresh: true }));
const many = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
$("about").textContent = `${many(content.methods.length, "method")} on ${many(content.sets.length, "task set")} of ${content.release}${content.chosen.length < content.methods.length ? `; pairs and tasks of ${content.chosen.length} of them` : ""}.`;
$("ladder-section").hidden = $("worst-section").hidden = !content.ladders.length;
$("queries-section").hidden = !content.queries;
window.fslbench = { ...fslbench, update };
update(fromAddress());
if (content.queries) showQueries();
if ($("pictures")) {
  for (const id of ["dataset", "shot", "task_set"]) $(id).addEventListener("change", pictureChosen);
  addEventListener("hashchange", pictureChosen);
  $("pictured").addEventListener("change", (event) => picture(event.target.value));
  picture($("pictured").value);
  pictureChosen();
}
document.documentElement.dataset.ready = "yes";
