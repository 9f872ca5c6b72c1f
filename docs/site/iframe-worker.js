// A page that is read from a disk may start no worker: a hidden frame does the work of the search instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        this.answered?.();
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
      // In the frame scripts are loaded one after another, and answers go to the page.
      const within = `
        var self = window;
        var postMessage = (data) => parent.postMessage(data, "*");
        var importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          script.onerror = failed;
          document.body.append(script);
        })), Promise.resolve());`;
      this.frame.srcdoc = `<body><script>${within}</` + `script><script src="${new URL(url, location)}"></` + `script></body>`;
      document.body.append(this.frame);
    }

    // A worker takes what comes while it makes its index after that; here one waits for the answer to the one before.
    postMessage(data) {
      this.ready = this.ready.then(() => new Promise((answered) => {
        this.answered = answered;
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
