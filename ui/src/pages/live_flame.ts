// The flame graph of the live page: made with the first tree that is not empty, then given newer
// ones, so that zoom, search and changes stay.
import type { DocumentInfo, Engine } from "../engine/protocol";
import { FlameView } from "../widgets/flame_view";
import { CHART_KEYS } from "../widgets/time_chart";

export interface FlamePartEvents {
  state(): string; // what the address says of it
  onState(text: string, isStep: boolean): void;
  goBack(): void;
}

export class FlamePart {
  private view: FlameView | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly engine: Engine,
    private readonly events: FlamePartEvents,
  ) {}

  // The reader is not in the middle of something that another tree would take away.
  get isFree(): boolean {
    return this.view?.canRefresh ?? true;
  }

  setState(text: string): void {
    this.view?.setState(text);
  }

  // bytes: page data with at least one sample. Gives what is wrong with it, or null.
  async show(bytes: Uint8Array): Promise<string | null> {
    if (this.view !== null) {
      this.view.refresh(bytes);
      return null;
    }
    try {
      this.make(await this.engine.load(bytes));
      return null;
    } catch (error) {
      return `The flame graph cannot be shown: ${error instanceof Error ? error.message : ""}`;
    }
  }

  private make(info: DocumentInfo): void {
    if (this.view !== null) return;
    this.view = new FlameView(this.host, this.engine, {
      info,
      state: this.events.state(),
      onState: (text, isStep) => this.events.onState(text, isStep),
      goBack: () => this.events.goBack(),
    });
    this.view.parts.help.addGroup("Chart, while it is in use", CHART_KEYS);
  }
}
