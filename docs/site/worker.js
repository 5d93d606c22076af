// A worker for pages opened from a folder, where browsers allow none: a hidden frame that runs the same script.
window.Worker = class extends EventTarget {
  constructor(url) {
    super();
    this.waiting = [];
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inner = this.frame.contentWindow;
    const load = (source) => new Promise((done) => {
      const script = inner.document.createElement("script");
      script.src = source;
      script.onload = done;
      inner.document.body.append(script);
    });
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inner.importScripts = (...sources) => sources.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
    load(url).then(() => {
      const waiting = this.waiting;
      this.waiting = null;
      waiting.forEach((data) => this.postMessage(data));
    });
  }
  postMessage(data) {
    if (this.waiting) this.waiting.push(data);
    else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
  }
  terminate() { this.frame.remove(); }
};
