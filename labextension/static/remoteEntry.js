// JupyterLab knows our files. This is the source and what ships: nothing is built, JupyterLab loads it as it is, and what
// it needs of JupyterLab comes from the modules that JupyterLab shares with extensions (webpack's module federation).
//
// A document of ours holds a kernel and what `esxparse.explorer.lab.present` shows in it. It never reads the file itself,
// which may be gigabytes, and never writes it. Double-clicked CSV, JSON and TOML come here first; the server tells by
// content whether one is ours (esxparse/explorer/server.py), and a stranger's goes on to the viewer it had before.

(() => {
  const NAME = "esxparse";
  // JupyterLab knows the first two.
  const TYPES = {
    csv: [".csv"], json: [".json"], "esxparse-toml": [".toml"],
    "esxparse-packed": [".gz", ".zst", ".xz", ".bz2", ".zip", ".tgz"],
  };
  const OTHERS = ["@jupyterlab/csvviewer-extension:csv", "@jupyterlab/json-extension:factory"];
  let shared = null;

  // A module that JupyterLab shares, the newest if there are several.
  async function load(name) {
    const versions = shared[name] ?? {};
    const [newest] = Object.keys(versions).sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
    if (newest === undefined) throw new Error(`${name} is not installed in this JupyterLab`);
    return (await versions[newest].get())();
  }

  const code = (file) => `try:
    from esxparse.explorer.lab import present
except ImportError as error:
    print(f"{error}: run  pip install 'esxparse[lab]'  in the environment of this kernel")
else:
    present(${JSON.stringify(file)})`;

  async function extension() {
    const [application, manager, registry, rendering, outputs, apputils, services, lumino] = await Promise.all([
      "@jupyterlab/application", "@jupyterlab/docmanager", "@jupyterlab/docregistry", "@jupyterlab/rendermime",
      "@jupyterlab/outputarea", "@jupyterlab/apputils", "@jupyterlab/services", "@lumino/widgets",
    ].map((name) => load(name)));

    // The contents stay on the server, and a save, which would replace them by what is here, has nothing to write.
    class Model extends registry.DocumentModel {
      get dirty() { return false; }
      set dirty(_) {}
      get readOnly() { return true; }
      set readOnly(_) {}
      toString() { throw new Error("esxparse shows this file and does not write it"); }
      getMetadata() {}
      setMetadata() {}
    }
    class Models extends registry.TextModelFactory {
      get name() { return NAME; }
      get fileFormat() { return null; }
      createNew() { return new Model(); }
    }

    function activate(app, documents, rendermime, restorer) {
      const { serviceManager, docRegistry } = app;
      const { contents, kernelspecs, serverSettings } = serviceManager;
      const tracker = new apputils.WidgetTracker({ namespace: NAME });
      const before = {};
      // Paths for which somebody chose esxparse; others came because it is the default of their file type.
      const chosen = new Set();
      app.commands.commandExecuted.connect((_, { args }) => {
        if (args?.factory === NAME && args.path) chosen.add(args.path);
      });

      async function ours(path) {
        if (!["", "RTC"].includes(contents.driveName(path))) return false;
        const address = `${serverSettings.baseUrl}esxparse/kind?path=${encodeURIComponent(contents.localPath(path))}`;
        try {
          const answer = await services.ServerConnection.makeRequest(address, {}, serverSettings);
          return answer.ok && (await answer.json()).kind !== null;
        } catch {
          return false;
        }
      }

      // The viewer that the file type had before; for others what JupyterLab opens everything with.
      function handOver(widget, path) {
        const type = docRegistry.getFileTypesForPath(path).find((one) => before[one.name]);
        const viewer = type ? before[type.name] : docRegistry.defaultWidgetFactory("").name;
        documents.openOrReveal(path, viewer, undefined, { ref: widget.id, mode: "tab-after" });
        widget.dispose();
      }

      async function startKernel(session) {
        await Promise.all([session.ready, kernelspecs.ready]);
        if (session.session) return;
        const known = kernelspecs.specs?.kernelspecs ?? {};
        const name = [kernelspecs.specs?.default, ...Object.keys(known)].find((one) => known[one]?.language === "python");
        if (!name) throw new Error("this server has no Python kernel: run  pip install ipykernel  beside it");
        session.kernelPreference = { name, shutdownOnDispose: true };
        await session.changeKernel({ name });
      }

      async function show(widget, said) {
        const { context } = widget;
        await context.ready;
        const { path } = context;
        if (!chosen.delete(path) && !(await ours(path))) return widget.isDisposed || handOver(widget, path);
        const file = contents.localPath(path).split("/").pop();
        said.node.textContent = `Starting Python for ${file} ...`;
        try {
          const { registerWidgetManager } = await load("@jupyter-widgets/jupyterlab-manager");
          await startKernel(context.sessionContext);
          const own = rendermime.clone({ resolver: context.urlResolver });
          registerWidgetManager(context, own, []);
          const model = new outputs.OutputAreaModel({ trusted: true });
          const contentFactory = outputs.OutputArea.defaultContentFactory;
          const area = new outputs.SimplifiedOutputArea({ model, rendermime: own, contentFactory });
          widget.content.addWidget(area);
          said.node.textContent = "Loading esxparse ...";
          // From here on Python says what it does.
          model.changed.connect(() => said.hide());
          await outputs.OutputArea.execute(code(file), area, context.sessionContext);
          said.hide();
        } catch (error) {
          if (!widget.isDisposed) said.node.textContent = `${file} cannot be shown: ${error.message}`;
        }
      }

      class Factory extends registry.ABCWidgetFactory {
        createNewWidget(context) {
          const content = new lumino.Panel();
          const said = new lumino.Widget();
          content.addClass("esxparse-document");
          content.addWidget(said);
          const widget = new registry.DocumentWidget({ content, context });
          widget.toolbar.hide();
          // Save means nothing here, and a checkpoint would copy the file.
          context.save = context.createCheckpoint = async () => {};
          tracker.add(widget);
          show(widget, said);
          return widget;
        }
      }

      docRegistry.addModelFactory(new Models());
      const own = { "esxparse-toml": ["TOML", "text"], "esxparse-packed": ["Compressed file", "base64"] };
      for (const [name, [displayName, fileFormat]] of Object.entries(own)) {
        docRegistry.addFileType({ name, displayName, fileFormat, extensions: TYPES[name], mimeTypes: [], contentType: "file" });
      }
      for (const [type, [ending]] of Object.entries(TYPES)) before[type] = docRegistry.defaultWidgetFactory(`a${ending}`).name;
      docRegistry.addWidgetFactory(new Factory({
        name: NAME, label: NAME, modelName: NAME, fileTypes: ["*", ...Object.keys(TYPES)], defaultFor: Object.keys(TYPES),
        readOnly: true,
      }));
      restorer?.restore(tracker, {
        command: "docmanager:open",
        args: ({ context }) => ({ path: context.path, factory: NAME }),
        name: ({ context }) => context.path,
      });
      sortTables();
    }

    return {
      id: "esxparse:plugin",
      description: "Opens captures, fio results and studies in the explorer of esxparse.",
      autoStart: true,
      requires: [manager.IDocumentManager, rendering.IRenderMimeRegistry],
      optional: [application.ILayoutRestorer],
      activate: async (app, ...services) => {
        // Their viewers have to be there: they are what a stranger's file is handed over to.
        await Promise.all(OTHERS.map((id) => app.activatePlugin(id).catch(() => {})));
        activate(app, ...services);
      },
    };
  }

  // Our tables, in outputs whether they are trusted or not, are sorted by a click on a heading.
  function sortTables() {
    const style = document.createElement("style");
    style.textContent = `table.esxparse-sort th { cursor: pointer; }
.jp-OutputArea-child:has(.esxparse-explorer) + :not(:has(.ex-explorer)) { display: none; }
.esxparse-document { overflow: auto; padding: 8px; }`;
    document.head.append(style);
    document.addEventListener("click", ({ target }) => {
      const head = target.closest?.("table.esxparse-sort > thead th");
      if (head) sort(head);
    });
  }

  function sort(head) {
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    const place = head.cellIndex;
    for (const one of head.parentElement.cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    // A word is sorted by the number in its tooltip: likely, possible, weak.
    const shown = (cell) => cell.querySelector("[title]")?.title.match(/\d+(\.\d+)?/)?.[0] ?? cell.textContent;
    const text = (row) => shown(row.cells[place]).trim();
    const order = (a, b) => (down ? -1 : 1) * text(a).localeCompare(text(b), "en", { numeric: true });
    const number = (row) => (text(row) === "" ? NaN : Number(text(row).replace(/,/g, "")));
    const rows = [...body.rows];
    const full = rows.filter((row) => text(row) !== "");
    const numbers = full.every((row) => !Number.isNaN(number(row)));
    full.sort(numbers ? (a, b) => (down ? -1 : 1) * (number(a) - number(b)) : order);
    // What has no value stays last.
    body.append(...full, ...rows.filter((row) => text(row) === ""));
  }

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const made = await extension();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
