// Browsers start no worker for a page that is opened from disk. There, a hidden frame runs the script of the search.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.receive(new MessageEvent("message", { data: structuredClone(data) }));
      this.ready = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = address;
        script.onload = () => resolve(inside);
        script.onerror = () => this.receive(new ErrorEvent("error", { cancelable: true }));
        inside.document.body.append(script);
      });
    }

    receive(event) {
      setTimeout(() => {
        this.dispatchEvent(event);
        this[`on${event.type}`]?.(event);
      });
    }

    postMessage(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      this.ready.then((inside) => setTimeout(() => inside.dispatchEvent(event)));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
