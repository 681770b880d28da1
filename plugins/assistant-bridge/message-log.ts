import type { JsonObject } from 'patchbay/contract'

/** Frames of one endpoint that are remembered. */
const MOST = 200
const NAME_CHARACTERS = 128

/** One frame, without its contents. */
export interface LoggedFrame {
  readonly at: string
  readonly direction: 'in' | 'out'
  readonly bytes: number
  readonly method?: string
  readonly tool?: string
  readonly durationMs?: number
  /** `success`, `error`, or a code. */
  readonly outcome?: string
}

/** The last frames of one endpoint. */
export class MessageLog {
  readonly #frames: LoggedFrame[] = []

  add({ method, tool, ...frame }: LoggedFrame): void {
    // Both are the other side's: of any length.
    const named = {
      ...(method === undefined ? {} : { method: method.slice(0, NAME_CHARACTERS) }),
      ...(tool === undefined ? {} : { tool: tool.slice(0, NAME_CHARACTERS) }),
    }
    this.#frames.push({ ...frame, ...named })
    if (this.#frames.length > MOST) this.#frames.shift()
  }

  get lastAt(): string | undefined {
    return this.#frames.at(-1)?.at
  }

  /** The newest first. */
  list(): readonly JsonObject[] {
    return this.#frames.toReversed().map(frame => ({ ...frame }))
  }
}
