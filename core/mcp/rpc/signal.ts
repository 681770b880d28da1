/** One kind of event within the MCP side. Listeners are called in the order in which they were added. */
export class Signal<Args extends readonly unknown[]> {
  readonly #listeners: ((...args: Args) => void)[] = []

  on(listener: (...args: Args) => void): void {
    this.#listeners.push(listener)
  }

  emit(...args: Args): void {
    for (const listener of this.#listeners) listener(...args)
  }
}
