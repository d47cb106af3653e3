// Shows the content beside it: choices are kept in the address, figures are Vega-Lite's.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const content = read("content-json");
const charts = read("charts-json");
const $ = (id) => document.getElementById(id);
const SHOWN_ROWS = 200;
const GLYPHS = { "+": "▲", "-": "▼", "0": "·", "=": "=", "?": "?", " ": " " };
const CLASSES = { "+": "better", "-": "worse" };
const MIRRORED = { "+": "-", "-": "+" };
const HABIT = "closed"; // the kind that the field compares by
const BOTH = "both"; // the kinds that people read first: thick and thin lines

// ---- numbers

const TYPES = { f64: Float64Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };
const decoded = new WeakMap();
function numbers(encoded) {
  if (!decoded.has(encoded)) {
    const bytes = Uint8Array.from(atob(encoded.data), (c) => c.charCodeAt(0));
    decoded.set(encoded, new TYPES[encoded.type](bytes.buffer));
  }
  return decoded.get(encoded);
}
const known = (x) => (Number.isNaN(x) ? null : x);
const fixed = (x) => (Math.abs(x) >= 0.005 || x === 0 ? x.toFixed(2) : x.toPrecision(2));
const signed = (x) => (x < 0 ? "" : "+") + x.toFixed(2);
const percent = (level) => `${+(100 * level).toPrecision(8)} %`;
const plusMinus = (mean, half, text) =>
  half === null ? `${text(mean)}, no interval` : half === 0 ? `${text(mean)} on every task` : `${text(mean)} ± ${fixed(half)}`;

// ---- a task set at a level

const byKind = (set, value) => Object.fromEntries(set.kinds.map((kind) => [kind, value(kind)]));
const methodName = (set, row) => content.methods[set.members[row]];
const chosenName = (set, i) => methodName(set, set.chosen[i]);
function pairIndex(set, i, j) { // of the upper triangle, i < j
  const n = set.chosen.length;
  return i * n - (i * (i + 1)) / 2 + (j - i - 1);
}
function comparison(set, level, i, j) { // of chosen method i minus j
  const turn = i > j;
  const k = turn ? pairIndex(set, j, i) : pairIndex(set, i, j);
  const pairs = set.pairs;
  const sign = turn ? -1 : 1;
  const side = (text) => (turn ? MIRRORED[text[k]] || text[k] : text[k]);
  return {
    method: chosenName(set, i),
    versus: chosenName(set, j),
    tasks: pairs.tasks ? pairs.tasks[k] : set.tasks[set.chosen[0]], // of all, else
    diff: sign * numbers(pairs.diff)[k] + 0,
    half: byKind(set, (kind) => known(numbers(pairs.half[kind][level])[k])),
    verdict: byKind(set, (kind) => side(pairs.verdict[kind][level])),
    direct: byKind(set, (kind) => side(pairs.direct[kind][level])),
    closed: side(pairs.closed[level]),
    reason: pairs.reason[level][k] || "",
    index: k,
  };
}
function pairReason(set, i, j) { // after verdicts; nothing of summed ones
  const { reason } = comparison(set, state.level, i, j);
  return reason && !state.summed ? `; ${reason}` : "";
}
function* pairsOf(set) {
  const n = set.chosen.length;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) yield [i, j];
}
const spoken = (set, c) => (c.verdict[set.shown[0]] === " " ? set.carried : set.shown[0]); // runs that stopped themselves have the carried kind alone
const ends = (mean, half) => (half === null ? [null, null] : [mean - half, mean + half]);

// ---- what is chosen

const FIELDS = ["dataset", "shot", "task_set", "a", "b", "level", "interval", "table", "scope", "filter", "sort", "ladder", "summed"];
const state = {};
const fslbench = { state, update, finished: null, rows: {} }; // for whoever measures or scripts the page
let shownDataset = "";
const setsOf = (dataset) => content.sets.filter((set) => set.dataset === dataset);
const current = () => content.sets.find((s) => s.dataset === state.dataset && s.task_set === state.task_set);
function choose(known, wanted, fallback) {
  return known.includes(wanted) ? wanted : known.includes(fallback) ? fallback : known[0];
}
function settle(wanted) { // every field has a value that there is
  const datasets = [...new Set(content.sets.map((set) => set.dataset))];
  state.dataset = choose(datasets, wanted.dataset);
  const shots = [...new Set(setsOf(state.dataset).map((set) => String(set.shot)))];
  const named = setsOf(state.dataset).find((set) => set.task_set === wanted.task_set);
  state.shot = named ? String(named.shot) : choose(shots, wanted.shot);
  const sets = setsOf(state.dataset).filter((set) => String(set.shot) === state.shot).map((set) => set.task_set);
  const suite = (wanted.task_set || state.task_set || "").split("-")[0];
  state.task_set = choose(sets, wanted.task_set, sets.find((name) => name.split("-")[0] === suite) || sets.find((name) => content.opens.sets.includes(`${state.dataset}/${name}`)));
  const set = current();
  const methods = set.chosen.map((_, i) => chosenName(set, i));
  const mean = (name) => numbers(set.mean)[set.chosen[methods.indexOf(name)]];
  const best = (some) => some.reduce((p, q) => (mean(q) > mean(p) ? q : p));
  state.a = choose(methods, wanted.a, methods.includes(content.opens.method) ? content.opens.method : best(methods));
  const others = methods.filter((name) => name !== state.a);
  state.b = others.length ? choose(others, wanted.b, best(others)) : "";
  state.level = choose(content.levels.map(String), wanted.level, String(content.level));
  const intervals = set.kinds.length > 1 ? [BOTH, ...set.kinds] : [BOTH];
  state.interval = choose(intervals, wanted.interval);
  state.table = choose(["comparisons", "accuracies"], wanted.table);
  state.scope = choose(["set", "dataset", "all"], wanted.scope);
  state.filter = wanted.filter || "";
  state.sort = wanted.sort || "";
  const ladders = content.ladders.all.map((each) => each.name);
  const changed = wanted.dataset !== shownDataset && ladders.find((name) => name.startsWith(`${state.dataset}/`));
  state.ladder = choose(ladders, changed && shownDataset ? changed : wanted.ladder, changed) || "";
  shownDataset = state.dataset;
  state.summed = wanted.summed === "1" ? "1" : "";
  return { datasets, shots, sets, methods, others, intervals };
}
function options(id, values, value, text = (v) => v, more = "") {
  const select = $(id);
  const signature = JSON.stringify([values, more]);
  if (select.dataset.values !== signature) {
    select.replaceChildren(...values.map((each) => new Option(text(each), each)));
    select.dataset.values = signature;
  }
  select.value = value;
}
function address() {
  const said = new URLSearchParams();
  for (const field of FIELDS) if (state[field]) said.set(field, state[field]);
  return `#${said}`;
}
const fromAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function update(changes = {}, { keep = true, afresh = false } = {}) {
  const there = settle(afresh ? changes : { ...state, ...changes });
  if (keep) history.replaceState(null, "", address());
  options("dataset", there.datasets, state.dataset);
  options("shot", there.shots, state.shot);
  options("task_set", there.sets, state.task_set);
  options("a", there.methods, state.a);
  options("b", there.others, state.b);
  options("level", content.levels.map(String), state.level, (level) => percent(+level));
  const first = current().shown.slice(0, 2).map((kind) => content.kinds[kind].about).join(" and "); // the options follow what it says
  options("interval", there.intervals, state.interval, (each) => (each === BOTH ? first : `${each}: ${content.kinds[each].about}`), first);
  $("signature").textContent = content.signature[state.level];
  const answers = document.querySelectorAll("#answer > div");
  for (const each of answers) each.hidden = answers.length > 1 && +each.dataset.level !== +state.level;
  $("table").value = state.table;
  $("scope").value = state.scope;
  if ($("filter").value !== state.filter) $("filter").value = state.filter;
  $("summed").checked = state.summed === "1";
  fslbench.finished = Promise.all([drawForest(), drawScatter(), drawAccuracies(), drawConclusive(), drawLadder()]).then(() => {
    drawMatrix();
    drawNumbers();
  });
  return fslbench.finished;
}

// ---- figures

const views = new Map();
const LINE = { forest: 17, accuracies: 17, conclusive: 22 }; // pixels a row
function signalled(spec, signals) { // the compiled chart: a forest's axis says whom its right side speaks for, a legend whom it names
  for (const axis of spec.axes || []) if (axis.title?.[1] === "direction") axis.title = { signal: `[${JSON.stringify(axis.title[0])}, direction]` };
  for (const scale of spec.scales || []) if (scale.domain?.[0] === "named") scale.domain = { signal: "named" };
  for (const legend of spec.legends || []) if (legend.size) legend.values = { signal: "sizes" };
  return { ...spec, signals: [...spec.signals, ...Object.entries(signals()).map(([name, value]) => ({ name, value }))] };
}
const keyed = (value) => (typeof value === "string" && value in Object.prototype ? `${value}\u200b` : value); // Vega keeps things by name in plain objects
async function draw(name, rows, caption, label, how = "", subject = "") {
  const signals = () => {
    const most = charts[name].params[0].value;
    const tasks = rows.map((row) => row.tasks).filter(Boolean), low = Math.min(...tasks), high = Math.max(...tasks);
    return { sizes: tasks.length ? [...new Set([low, Math.floor((low + high) / 2), high])] : [], direction: `${subject.length > most ? `…${subject.slice(1 - most)}` : subject} better →`, named: [...new Set(rows.map((row) => row.named))] };
  };
  const element = $(name);
  fslbench.rows[name] = rows.map((row, place) => ({ place, ...row }));
  rows = fslbench.rows[name].map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, keyed(value)])));
  const height = name in LINE ? LINE[name] * Math.max(rows.length, 1) : charts[name].height;
  const code = document.createElement("code");
  code.textContent = how;
  $(`${name}-caption`).replaceChildren(caption, ...(how ? [" In a paper: ", code] : []));
  if (!views.has(name)) {
    const settings = { actions: false, renderer: "svg", logLevel: 1 }; // log errors only
    const { config } = charts[name];
    const narrow = element.clientWidth < 500;
    charts[name].params[0].value = Math.min(40, Math.round((0.4 * element.clientWidth) / 6.5));
    Object.assign(config.legend, { columns: narrow ? 1 : 2, layout: { bottom: { direction: "vertical" } } });
    if (name === "conclusive") charts[name].padding = { left: 5, top: 5, bottom: 5, right: 40 }; // numbers stand behind the bars
    views.set(name, window.vegaEmbed(element, { ...charts[name], height, datasets: { rows } }, { ...settings, patch: (spec) => signalled(spec, signals) }));
    await views.get(name);
  } else {
    const { view } = await views.get(name);
    for (const [signal, value] of Object.entries(signals())) view.signal(signal, value);
    await view.height(height).data("rows", rows).runAsync();
  }
  element.setAttribute("aria-label", `${label}. ${caption}`);
}
const taskCount = (tasks) => {
  const [low, high] = [Math.min(...tasks), Math.max(...tasks)];
  return low === high ? `T = ${low} task${low === 1 ? "" : "s"}` : `T = ${low} to ${high} tasks`;
};
const drawnKinds = (set) => (state.interval === BOTH || !set.kinds.includes(state.interval) ? set.shown.slice(0, 2) : [state.interval]); // thick, thin
const inFull = (kind) => `${content.kinds[kind].family} (${content.kinds[kind].estimand})`;
function intervalsCaption(set, tasks, halves) { // halves: what is drawn
  const [thick, thin] = drawnKinds(set);
  const there = thin && halves.some((half) => half[thin] !== null);
  return `${percent(+state.level)} intervals, ${inFull(thick)}${there ? `; thin lines: ${inFull(thin)}` : ""}. ${taskCount(tasks)}, ${set.dataset}/${set.task_set}.`;
}
function intervalEnds(set, mean, half) {
  const [thick, thin] = drawnKinds(set);
  const [low, high] = ends(mean, half[thick]);
  const [low_new, high_new] = thin ? ends(mean, half[thin]) : [null, null];
  return { low, high, low_new, high_new };
}
function differenceText(set, c) {
  if (Object.values(c.verdict).includes("=")) return "identical";
  const [thick] = drawnKinds(set);
  const beside = state.interval === BOTH ? set.shown.slice(1).map((kind) => c.half[kind]).filter(Boolean) : [];
  return plusMinus(c.diff, c.half[thick], signed) + (beside.length ? ` (${beside.map(fixed).join("; ")})` : "");
}
const quoted = (text) => (/^[\w./+:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const all = (set) => set.chosen.length === set.members.length; // what the command draws when no method is named
const command = (kind, dataset, taskSets, methods = []) =>
  [`fslbench plot ${kind}`, content.arguments, `--dataset ${dataset}`, ...taskSets.map((name) => `--task-set ${name}`),
    ...methods.map((name) => `--method ${quoted(name)}`), ...(+state.level === 0.95 ? [] : [`--level ${state.level}`]),
    `-o ${kind}.pdf`].filter(Boolean).join(" ");
const ofSet = (kind, set, methods) => (state.interval === BOTH ? command(kind, set.dataset, [set.task_set], methods) : ""); // commands draw the kinds that lead

function drawForest() {
  const set = current();
  const i = set.chosen.findIndex((_, at) => chosenName(set, at) === state.a);
  const [thick] = drawnKinds(set);
  const compared = set.chosen.map((_, j) => j).filter((j) => j !== i).map((j) => comparison(set, state.level, i, j)).sort((p, q) => q.diff - p.diff);
  const rows = compared.map((c) => ({ label: c.versus, mean: c.diff, ...intervalEnds(set, c.diff, c.half),
    verdict: content.verdicts[c.verdict[thick === set.shown[0] ? spoken(set, c) : thick]] || "not estimable", shown: differenceText(set, c) + (c.reason ? `; ${c.reason}` : "") }));
  say(set, i);
  if (!rows.length) return draw("forest", rows, "There is no other method: nothing to compare, no interval, T = 0.", "Forest plot");
  const caption = `${state.a} minus each other method, in points. ${intervalsCaption(set, compared.map((c) => c.tasks), compared.map((c) => c.half))}`;
  return draw("forest", rows, caption, "Forest plot of differences", all(set) || rows.length === 1 ? ofSet("forest", set, rows.length === 1 ? [state.a, state.b] : [state.a]) : "", state.a);
}
function say(set, i) {
  const j = set.chosen.findIndex((_, at) => chosenName(set, at) === state.b);
  if (j < 0) { $("verdict").textContent = `${state.a} is alone on ${set.dataset}/${set.task_set}.`; return; }
  const c = comparison(set, state.level, i, j);
  const word = (verdict) => ({ "+": "better than", "-": "worse than", "0": "not told apart from", "=": "in its counts identical to", "?": "not comparable with" })[verdict];
  const first = spoken(set, c);
  const verdict = c.verdict[first], half = c.half[first], { about } = content.kinds[first];
  const size = verdict === "=" || half === null ? "" : `${plusMinus(c.diff, half, signed)} points; `;
  let text = `On ${set.dataset}/${set.task_set}, ${c.tasks} task${c.tasks === 1 ? "" : "s"}, ${state.a} is ${word(verdict)} ${state.b} (${size}${percent(+state.level)}, ${about})`;
  if (c.reason) text += `: ${c.reason}`;
  else if (half === null && verdict !== "?") text += ", by the confidence sequence of a run that stopped itself";
  else if (verdict !== "=") {
    const beside = set.shown.slice(1).filter((kind) => !" ?".includes(c.verdict[kind]));
    const same = beside.filter((kind) => c.verdict[kind] === verdict).map((kind) => content.kinds[kind].about).join(" and ");
    if (same) text += verdict === "0" ? `, nor for ${same}` : `, for ${same} too`;
    for (const kind of beside) if (c.verdict[kind] !== verdict) text += `; for ${content.kinds[kind].about}: ${word(c.verdict[kind])} it`;
  }
  $("verdict").textContent = first === HABIT ? `${text}. None of this is about new images.` : `${text}. ${set.unseen[state.level] || ""}`.trim();
}
function drawScatter() {
  const set = current();
  const at = [state.a, state.b].map((name) => set.chosen.findIndex((_, k) => chosenName(set, k) === name));
  if (at[1] < 0) return draw("scatter", [], "There is no other method: no interval, T = 0.", "Scatter plot");
  const data = numbers(set.counts);
  const tasks = Math.min(...at.map((k) => set.tasks[set.chosen[k]]));
  const [x, y] = at.map((k) => Array.from(data.subarray(k * set.T, k * set.T + tasks), (n) => (100 * n) / set.unit[k]));
  const found = new Map();
  for (let t = 0; t < tasks; t++) {
    const key = `${x[t]} ${y[t]}`;
    const row = found.get(key);
    if (row) row.tasks += 1;
    else found.set(key, { first: x[t], second: y[t], tasks: 1 });
  }
  const low = Math.min(...x, ...y), high = Math.max(...x, ...y);
  const rows = [...found.values(), { end: low }, { end: high }];
  const caption = `Each point: the tasks on which ${state.a} (across) and ${state.b} (up) have these accuracies. Pearson's r = ${correlation(x, y)}, ${taskCount([tasks])}, no interval.`;
  return draw("scatter", rows, caption, "Scatter plot of per-task accuracies", ofSet("scatter", set, [state.a, state.b]));
}
function correlation(x, y) {
  const mean = (v) => v.reduce((sum, each) => sum + each, 0) / v.length;
  const [mx, my] = [mean(x), mean(y)];
  let xy = 0, xx = 0, yy = 0;
  x.forEach((each, t) => { xy += (each - mx) * (y[t] - my); xx += (each - mx) ** 2; yy += (y[t] - my) ** 2; });
  return x.length > 1 && xx > 0 && yy > 0 ? (xy / Math.sqrt(xx * yy)).toFixed(2) : "undefined";
}
function accuracyOf(set, row, level = state.level) {
  return { mean: numbers(set.mean)[row], half: byKind(set, (kind) => known(numbers(set.half[kind][level])[row])) };
}
const tiedBy = (set, kind) => set.tied[kind]?.[state.level] || []; // the highest, then those not told apart from it
function drawAccuracies() {
  const set = current();
  const [thick, thin] = drawnKinds(set);
  const tied = new Set(tiedBy(set, thick));
  const ranked = new Set(tied.size ? set.contest : []);
  const halves = [];
  const rows = set.chosen.map((row) => {
    const { mean, half } = accuracyOf(set, row);
    halves.push(half);
    return { label: methodName(set, row), mean, ...intervalEnds(set, mean, half),
      standing: !ranked.has(row) ? "accuracy" : tied.has(row) ? "highest or not told apart" : "told apart from it",
      shown: plusMinus(mean, half[thick], (v) => v.toFixed(2)) + (set.prefix[row] ? `; ${content.prefix}` : "") };
  }).sort((p, q) => q.mean - p.mean);
  let caption = intervalsCaption(set, set.chosen.map((row) => set.tasks[row]), halves);
  if (set.best >= 0) {
    const few = (names) => (names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ") || "none");
    const others = (kind) => few(tiedBy(set, kind).slice(1).map((row) => methodName(set, row)));
    const list = [thick, thin].filter((kind) => set.tied[kind]).map((kind) => `for ${content.kinds[kind].about}: ${others(kind)}`).join("; ");
    caption += ` Highest mean: ${methodName(set, set.best)}. Not told apart from it at ${percent(+state.level)} (Holm over all pairs of the ${set.contest.length} methods that answered all tasks)${list ? `, ${list}` : ": not computed"}.`;
  }
  return draw("accuracies", rows, caption, "Mean accuracies of the methods", all(set) ? ofSet("accuracies", set) : "");
}
function drawConclusive() {
  const every = family(current());
  const bars = claims(every).get("closed error bars"); // where the field's habit has a verdict, other pairs do not count
  const known = (set) => bars && [...bars.signs(set)].map((v) => "+-0=?".includes(v));
  const habit = (set) => (known(set) || []).some((v) => v);
  const sets = every.some(habit) ? every.filter(habit) : every;
  const asked = new Map(sets.map((set) => [set, [...pairsOf(set)].map(([i, j], k) => (isAsked(set, i) || isAsked(set, j)) && (!habit(set) || known(set)[k]))]));
  const rows = [];
  for (const [label, claim] of claims(sets)) {
    const signs = sets.flatMap((set) => { const of = asked.get(set); return [...claim.signs(set)].filter((_, k) => of[k]); });
    const compared = signs.filter((v) => "+-0=".includes(v)).length;
    const found = signs.filter((v) => v === "+" || v === "-").length;
    if (compared) rows.push({ kind: label, share: (100 * found) / compared, shown: `${found} of ${compared}` });
  }
  const kinds = new Set([...claims(sets).values()].map((claim) => claim.kind));
  const who = content.files ? `The methods of the results with each other and with the reference methods` : `All pairs of the ${content.chosen.length} methods of this page`;
  const caption = `${who}, on ${like(sets)}, uncorrected. ${BARS} ${percent(+state.level)} intervals: ${[...kinds].map(inFull).join(", ")}. ${taskCount(sets.map((set) => set.T))}.`;
  return draw("conclusive", rows, caption, "Share of conclusive comparisons by what is claimed",
    sets.every(all) ? command("conclusive", state.dataset, sets.map((set) => set.task_set)) : "");
}
const isAsked = (set, i) => !content.files || !content.reference[set.members[set.chosen[i]]]; // whose comparisons the results are about
const like = (sets) => (sets.length === 1 ? `${state.dataset}/${state.task_set}` : `the ${sets.length} task sets of ${state.dataset} like ${state.task_set}`);
function drawLadder() {
  const found = content.ladders.all.find((each) => each.name === state.ladder);
  if (!found) return null;
  options("ladder-name", content.ladders.all.map((each) => each.name), state.ladder);
  const methods = new Set(found.rows.map(([method]) => method));
  const chosen = [state.a, state.b].filter((name) => methods.has(name));
  const named = chosen.length ? chosen : [found.rows[0][0]];
  const of = (measure, i) => {
    const mean = numbers(found[measure].mean)[i], half = known(numbers(found[measure].half[state.level])[i]);
    const [low, high] = ends(mean, half);
    return { measure, mean, low, high, shown: plusMinus(mean, half, (v) => v.toFixed(2)) };
  };
  const rows = [], worst = [];
  found.rows.forEach(([method, step], i) => {
    const [accuracy, wAcc] = ["accuracy", "wAcc"].map((measure) => of(measure, i));
    if (named.includes(method)) rows.push({ method, step, ...accuracy }, { method, step, ...wAcc });
    if (step === found.last) worst.push({ method, named: named.includes(method) ? method : content.ladders.others, accuracy: accuracy.mean, low: accuracy.low, high: accuracy.high,
      worst: wAcc.mean, worst_low: wAcc.low, worst_high: wAcc.high });
  });
  const order = (row) => (named.includes(row.named) ? named.indexOf(row.named) : named.length);
  worst.sort((p, q) => order(p) - order(q));
  const instead = chosen.length ? "" : ` The chosen methods did not answer it: ${named[0]} is shown.`;
  const caption = found.caption[state.level];
  const how = (kind) => command(kind, found.dataset, [found.task_set], named);
  return Promise.all([
    draw("ladder", rows, `${found.name}: accuracy and worst-class accuracy (wAcc) by step.${instead} ${caption}`, "Ladder of attribute-biased tasks", how("ladder")),
    draw("worst", worst, `${found.name}, ${found.last}: accuracy and worst-class accuracy (wAcc).${instead} ${caption}`, "Accuracy against worst-class accuracy", how("worst")),
  ]);
}

// ---- the matrix

const family = (set) => setsOf(set.dataset).filter((each) => each.shown[0] === set.shown[0]); // they speak of the same, by the same kinds
const BARS = "Error bars: two intervals do not overlap; closed ones are of tasks that reuse images. Else 0 lies outside the interval of the difference.";
function claims(sets) { // what is concluded of pairs, from the field's habit to the most careful, by label
  const found = new Map();
  const { carried, shown: [lead] } = sets[0];
  const bars = (label, kind) => found.set(label, { kind, signs: (set) => set.pairs.direct[kind][state.level], of: (c) => c.direct[kind] });
  const difference = (kind) => found.set(content.kinds[kind].claim, { kind, signs: (set) => set.pairs.verdict[kind]?.[state.level] || "", of: (c) => c.verdict[kind] || " " });
  if (lead === HABIT) bars("closed error bars", HABIT);
  else {
    if (carried === lead) found.set("closed error bars", { kind: HABIT, signs: (set) => set.pairs.closed[state.level], of: (c) => c.closed });
    else difference(carried);
    bars("error bars", lead);
  }
  new Set(sets.flatMap((set) => set.shown)).forEach(difference);
  return found;
}
function drawMatrix() {
  const set = current();
  const sets = state.summed ? family(set) : [set];
  const made = [...claims(sets)];
  const names = set.chosen.map((_, i) => chosenName(set, i));
  const places = sets.map((each) => new Map(each.chosen.map((_, i) => [chosenName(each, i), i])));
  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const leading = content.kinds[drawnKinds(set)[0]].claim;
  const cell = (row, column) => {
    const tally = made.map(() => ({ "+": 0, "-": 0, text: " " }));
    sets.forEach((each, s) => {
      const i = places[s].get(row), j = places[s].get(column);
      if (i === undefined || j === undefined) return;
      const c = comparison(each, state.level, i, j);
      made.forEach(([, claim], k) => { const sign = claim.of(c); tally[k].text = sign; if (sign in tally[k]) tally[k][sign] += 1; });
    });
    const main = tally[made.findIndex(([label]) => label === leading)];
    const shown = state.summed ? `${main["+"]}▲ ${main["-"]}▼` : tally.map((each) => GLYPHS[each.text]).join("");
    const said = made.map(([label], k) => state.summed
      ? `${label}: better on ${tally[k]["+"]}, worse on ${tally[k]["-"]}`
      : `${label}: ${content.verdicts[tally[k].text] || "not there"}`).join("; ");
    const reason = pairReason(set, names.indexOf(row), names.indexOf(column));
    const lead = state.summed ? (main["+"] > main["-"] ? "+" : main["-"] > main["+"] ? "-" : "") : main.text;
    const mark = row === state.a && column === state.b ? " chosen" : "";
    return `<td class="${CLASSES[lead] || ""}${mark}"><span role="img" aria-label="${said}" title="${escape(row)} against ${escape(column)}. ${said}${reason}">${shown}</span></td>`;
  };
  const head = names.map((name) => `<th scope="col"><span>${escape(name)}</span></th>`).join("");
  const body = names.map((row) => `<tr><th scope="row">${escape(row)}</th>${names.map((column) => (row === column ? "<td></td>" : cell(row, column))).join("")}</tr>`).join("");
  const about = state.summed ? `All ${sets.length} task sets of ${state.dataset} like ${state.task_set}: on how many the row is better and worse; shown is the verdict for ${leading}` : `${set.dataset}/${set.task_set}, ${taskCount([set.T])}`;
  $("matrix-caption").textContent = `${about}, ${percent(+state.level)} intervals.`;
  $("matrix").innerHTML = `<table aria-labelledby="matrix-caption"><thead><tr><td></td>${head}</tr></thead><tbody>${body}</tbody></table>`;
  $("claims").textContent = made.map(([label]) => label).join(" · ");
}

// ---- the numbers

const TEXTS = new Set(["dataset", "task_set", "method", "versus", "verdict", "verdict_direct", "verdict_closed", "interval", "tie", "reference", "reason"]);
const ACCURACIES = ["dataset", "task_set", "method", "reference", "T", "mean", "mean_halfwidth", "interval", "level", "tie", "reason"];
function scoped() {
  return state.scope === "all" ? content.sets : state.scope === "dataset" ? setsOf(state.dataset) : [current()];
}
const narrow = matchMedia("(max-width: 40rem)");
const FIRST = ["method", "versus", "diff", "diff_halfwidth", "verdict", "mean", "mean_halfwidth"]; // what a phone has room for
const SAID_ONCE = ["dataset", "task_set", "level", "T"];
function inView(columns, rows) { // the columns that are shown; what all rows share is said above the table
  const shared = rows.length > 1 ? SAID_ONCE.filter((name) => columns.includes(name) && rows.every((row) => row[name] === rows[0][name])) : [];
  const left = columns.filter((name) => !shared.includes(name));
  const first = narrow.matches ? FIRST.filter((name) => left.includes(name)) : [];
  return { shared, shown: [...first, ...left.filter((name) => !first.includes(name))] };
}
const listed = (set) => (set.kinds.includes(state.interval) ? [state.interval] : [...new Set([set.carried, ...set.shown])]);
function comparisonRows(set) {
  const level = state.level, rows = [];
  const base = { dataset: set.dataset, task_set: set.task_set, level: +level };
  for (const [i, j] of pairsOf(set)) {
    const c = comparison(set, level, i, j);
    const own = accuracyOf(set, set.chosen[i]);
    const [mean, half] = set.pairs.shorter[c.index]?.[level] || [own.mean, own.half];
    for (const kind of listed(set)) {
      if (c.verdict[kind] === " ") continue; // of a run that stopped itself
      rows.push({ ...base, method: c.method, versus: c.versus, T: c.tasks, mean, mean_halfwidth: half[kind], diff: c.diff, diff_halfwidth: c.half[kind],
        verdict: c.verdict[kind], verdict_direct: c.direct[kind], verdict_closed: kind === set.carried ? c.closed.trim() : "", interval: kind, reason: c.reason });
    }
  }
  if (set.chosen.length === 1) for (const kind of listed(set)) { // compared with none
    const [row] = set.chosen, { mean, half } = accuracyOf(set, row);
    rows.push({ ...base, method: methodName(set, row), versus: "", T: set.tasks[row], mean, mean_halfwidth: half[kind], diff: null, diff_halfwidth: null, interval: kind, reason: set.prefix[row] ? content.prefix : "" });
  }
  return rows;
}
function accuracyRows(set) {
  const tied = byKind(set, (kind) => new Set(tiedBy(set, kind)));
  const tie = (kind, row) => (!tied[kind].size ? "" : row === set.best ? "highest" : tied[kind].has(row) ? "not told apart" : "");
  return set.members.flatMap((_, row) => {
    const { mean, half } = accuracyOf(set, row);
    return listed(set).map((kind) => ({ dataset: set.dataset, task_set: set.task_set, method: methodName(set, row),
      reference: content.reference[set.members[row]] ? "yes" : "no", T: set.tasks[row], mean, mean_halfwidth: half[kind],
      interval: kind, level: +state.level, tie: tie(kind, row), reason: set.prefix[row] ? content.prefix : "" }));
  });
}
let kept = { key: "", rows: [] };
function tableRows() {
  const columns = state.table === "comparisons" ? content.columns : ACCURACIES;
  const key = [state.table, state.scope, state.scope === "all" ? "" : state.dataset, state.scope === "set" ? state.task_set : "", state.level, state.interval].join("|");
  if (kept.key !== key) kept = { key, rows: scoped().flatMap(state.table === "comparisons" ? comparisonRows : accuracyRows) };
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  let rows = words.length ? kept.rows.filter((row) => { const text = columns.map((name) => row[name]).join(" ").toLowerCase(); return words.every((word) => text.includes(word)); }) : kept.rows;
  const [, sign, by] = /^([+-])(.*)$/.exec(state.sort) || [];
  if (columns.includes(by)) {
    const turn = sign === "-" ? -1 : 1;
    const text = TEXTS.has(by);
    rows = [...rows].sort((p, q) => {
      if (p[by] === null || q[by] === null) return (p[by] === null) - (q[by] === null);
      return turn * (text ? (p[by] < q[by] ? -1 : p[by] > q[by] ? 1 : 0) : p[by] - q[by]);
    });
  }
  return { columns, rows };
}
function shownCell(name, value) {
  if (value === null || value === undefined || value === "") return "";
  if (["mean", "mean_halfwidth", "diff_halfwidth"].includes(name)) return value.toFixed(2);
  return name === "diff" ? signed(value) : String(value);
}
let limit = SHOWN_ROWS;
function drawNumbers(more = false) {
  limit = more ? limit + 1000 : SHOWN_ROWS;
  const { columns: every, rows } = tableRows();
  const { shared, shown: columns } = inView(every, rows);
  const order = (name) => (state.sort.slice(1) !== name ? "none" : state.sort[0] === "-" ? "descending" : "ascending");
  const head = document.createElement("tr");
  for (const name of columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.className = TEXTS.has(name) ? "" : "number";
    cell.setAttribute("aria-sort", order(name));
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.sort = name;
    button.append(...name.split("_").flatMap((part, i) => (i ? ["_", document.createElement("wbr"), part] : [part])), { none: "", ascending: " ↑", descending: " ↓" }[order(name)]);
    cell.append(button);
    head.append(cell);
  }
  $("numbers").tHead.replaceChildren(head);
  const body = document.createDocumentFragment();
  for (const row of rows.slice(0, limit)) {
    const line = document.createElement("tr");
    for (const name of columns) {
      const cell = document.createElement("td");
      if (!TEXTS.has(name)) cell.className = "number";
      if (name === "method" || name === "versus") cell.className = "name";
      if (name.startsWith("verdict")) cell.className = CLASSES[row[name]] || "";
      cell.append(...shownCell(name, row[name]).split(/(?<=\/)/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
      line.append(cell);
    }
    body.append(line);
  }
  $("numbers").tBodies[0].replaceChildren(body);
  const same = shared.map((name) => `${name} ${shownCell(name, rows[0][name])}`).join(", ");
  $("rows").textContent = `${rows.length} row${rows.length === 1 ? "" : "s"}${rows.length > limit ? `, ${limit} shown; the downloads hold all` : ""}${same ? `; of all: ${same}` : ""}.`;
  $("more").hidden = rows.length <= limit;
}
function csvText() {
  const { columns, rows } = tableRows();
  const field = (value) => { const text = value === null || value === undefined ? "" : String(value); return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  const lines = rows.map((row) => columns.map((name) => field(row[name])).join(","));
  return [`# ${content.signature[state.level]}`, columns.join(","), ...lines, ""].join("\n");
}
function latexText() {
  const { columns, rows } = tableRows();
  const text = (value) => Array.from(String(value).normalize("NFC"), (c) => content.tex[c] || c).join("");
  const lines = rows.map((row) => `${columns.map((name) => text(shownCell(name, row[name]))).join(" & ")} \\\\`);
  const beyond = content.beyond_pdflatex.filter((c) => lines.some((line) => line.includes(c)));
  return [`% ${content.signature[state.level]}`, ...(beyond.length ? [`% needs lualatex, and a font that has them, for ${beyond.join(" ")}`] : []), `\\begin{tabular}{${columns.map((name) => (TEXTS.has(name) ? "l" : "r")).join("")}}`, "\\toprule",
    `${columns.map(text).join(" & ")} \\\\`, "\\midrule", ...lines, "\\bottomrule", "\\end{tabular}", ""].join("\n");
}
function download(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- start

$("shot").addEventListener("change", (event) => update({ shot: event.target.value, task_set: "" }));
for (const id of ["dataset", "task_set", "a", "b", "level", "interval", "table", "scope"])
  $(id).addEventListener("change", (event) => update({ [id]: event.target.value }));
$("ladder-name").addEventListener("change", (event) => update({ ladder: event.target.value }));
$("summed").addEventListener("change", (event) => update({ summed: event.target.checked ? "1" : "" }));
$("filter").addEventListener("input", (event) => { state.filter = event.target.value; history.replaceState(null, "", address()); drawNumbers(); });
$("numbers").tHead.addEventListener("click", (event) => {
  const by = event.target.dataset.sort;
  if (!by) return;
  const numeric = !TEXTS.has(by);
  state.sort = state.sort.slice(1) !== by ? (numeric ? "-" : "+") + by : (state.sort[0] === "+" ? "-" : "+") + by;
  history.replaceState(null, "", address());
  drawNumbers();
  $("numbers").tHead.querySelector(`[data-sort="${by}"]`).focus();
});
$("more").addEventListener("click", () => drawNumbers(true));
$("csv").addEventListener("click", () => download(csvText(), `${state.table}.csv`, "text/csv"));
$("latex").addEventListener("click", () => download(latexText(), `${state.table}.tex`, "text/x-tex"));
$("choices").addEventListener("submit", (event) => event.preventDefault());
narrow.addEventListener("change", () => drawNumbers());
addEventListener("hashchange", () => update(fromAddress(), { keep: false, afresh: true }));

$("about").textContent = `${content.methods.length} methods on ${content.sets.length} task sets of ${content.release}${content.chosen.length < content.methods.length ? `; pairs and tasks of ${content.chosen.length} of them` : ""}.`;
$("unbound").hidden = !content.unbound;
if (content.queries) {
  $("queries-section").hidden = false;
  draw("queries", content.queries.rows, content.queries.caption, content.queries.title, content.queries.command);
}
$("ladder-section").hidden = $("worst-section").hidden = !content.ladders.all.length;
window.fslbench = fslbench;
await update(fromAddress());
document.documentElement.dataset.ready = "yes";
