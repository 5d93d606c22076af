"use strict";
// The measures of ratewise.measures, each as a function of (TPR, TNR, prevalence) from its parameters. A test
// compares every one with Python. `p` and `n` are the rates, `q` the prevalence.

const ratio = (a, b) => (p, n) => {
  const below = b[0] + b[1] * p + b[2] * n;
  return below === 0 ? 0 : (a[0] + a[1] * p + a[2] * n) / below;
};
const pseudoLinear = (coefficients) => (p, n, q) => ratio(...coefficients(q))(p, n);
const bounded = (line, penalty) => (p, n) => p + penalty * Math.min(line[0] + line[1] * p + line[2] * n, 0);
const tprAtLeast = (tpr) => [-1, 1 / tpr, 0];
const tnrAtLeast = (tnr) => [-tnr / (1 - tnr), 0, 1 / (1 - tnr)];
const precisionAtLeast = (precision, q) => {
  const price = (precision * (1 - q)) / ((1 - precision) * Math.max(q, 1e-12));
  return [-price, 1, price];
};
const alertsAtMost = (share, q) => [1 - (1 - q) / share, -q / share, (1 - q) / share];
const excess = (line, p, n) => line[0] + line[1] * p + line[2] * n;
const precisionOf = (p, n, q) => {
  const hits = q * p, called = hits + (1 - q) * (1 - n);
  return called > 0 ? hits / called : 0;
};
const atPrevalence = (m) => { const inner = measureFrom(m.measure); return (p, n) => inner(p, n, m.prevalence); };

const MEASURES = {
  MinRate: () => (p, n) => Math.min(p, n),
  WeightedMin: (m) => (p, n) => 1 - Math.max(m.on_positives * (1 - p), m.on_negatives * (1 - n)),
  BalancedAccuracy: () => (p, n) => 0.5 * (p + n),
  QMean: () => (p, n) => 1 - Math.sqrt(0.5 * ((1 - p) ** 2 + (1 - n) ** 2)),
  HMean: () => (p, n) => (p + n > 0 ? (2 * p * n) / (p + n) : 0),
  GMean: () => (p, n) => Math.sqrt(Math.max(p * n, 0)),
  FBeta: (m) => pseudoLinear((q) => {
    const w = m.beta * m.beta;
    return [[0, (1 + w) * q, 0], [w * q + (1 - q), q, -(1 - q)]];
  }),
  Jaccard: () => pseudoLinear((q) => [[0, q, 0], [1, 0, -(1 - q)]]),
  GowerLegendre: (m) => pseudoLinear((q) => {
    const rest = 1 - m.sigma;
    return [[0, q, 1 - q], [m.sigma, rest * q, rest * (1 - q)]];
  }),
  Tversky: (m) => pseudoLinear((q) => {
    const alarms = m.alpha * (1 - q);
    return [[0, q, 0], [m.beta * q + alarms, (1 - m.beta) * q, -alarms]];
  }),
  CohenKappa: () => pseudoLinear((q) => {
    const r = 1 - q, twice = 2 * q * r;
    return [[-twice, twice, twice], [q * q + r * r, (r - q) * q, (q - r) * r]];
  }),
  NetBenefit: (m) => pseudoLinear((q) => {
    const price = ((1 - q) * m.probability) / (1 - m.probability);
    return [[-price, q, price], [1, 0, 0]];
  }),
  CostMatrix: (m) => pseudoLinear((q) => {
    const [[tn, fp], [fn, tp]] = m.costs, r = 1 - q;
    return [[-(r * fp + q * fn), q * (fn - tp), r * (fp - tn)], [1, 0, 0]];
  }),
  PseudoLinear: (m) => pseudoLinear(() => [m.a, m.b]),
  MatthewsCorrelation: () => (p, n, q) => {
    const called = q * p + (1 - q) * (1 - n), spread = Math.max(called * (1 - called), 0);
    return spread > 0 ? (Math.sqrt(q * (1 - q)) * (p + n - 1)) / Math.sqrt(spread) : 0;
  },
  FowlkesMallows: () => (p, n, q) => {
    const called = q * p + (1 - q) * (1 - n);
    return called > 1e-200 ? p * Math.sqrt(q / called) : 0;
  },
  TPRAtTNR: (m) => bounded(tnrAtLeast(m.tnr), m.penalty),
  TPRAtFPR: (m) => bounded([1 - 1 / m.fpr, 0, 1 / m.fpr], m.penalty),
  RecallAtPrecision: (m) => (p, n, q) => bounded(precisionAtLeast(m.precision, q), m.penalty)(p, n),
  RecallAtPrecisionAndPrevalence: (m) => bounded(precisionAtLeast(m.precision, m.prevalence), m.penalty),
  PrecisionAtRecall: (m) => (p, n, q) =>
    precisionOf(p, n, q) + m.penalty * Math.min(excess(tprAtLeast(m.recall), p, n), 0),
  RecallAtAlertRate: (m) => (p, n, q) => {
    const alerts = q * p + (1 - q) * (1 - n);
    return p * Math.min(m.alert_rate / Math.max(alerts, 1e-300), 1);
  },
  Constrained: (m) => {
    const inner = measureFrom(m.measure);
    return (p, n, q) => {
      let missed = 0;
      if (m.tpr !== null) missed += Math.min(excess(tprAtLeast(m.tpr), p, n), 0);
      if (m.tnr !== null) missed += Math.min(excess(tnrAtLeast(m.tnr), p, n), 0);
      if (m.precision !== null) missed += Math.min(excess(precisionAtLeast(m.precision, q), p, n), 0);
      if (m.alert_rate !== null) missed += Math.min(excess(alertsAtMost(m.alert_rate, q), p, n), 0);
      return inner(p, n, q) + m.penalty * missed;
    };
  },
  MeasureAtPrevalence: atPrevalence,
  PseudoLinearAtPrevalence: atPrevalence,
};

function measureFrom(formula) { return MEASURES[formula.kind](formula); }
