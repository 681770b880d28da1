type Fields = Readonly<Record<string, unknown>>

/**
 * The fields of a logger with those of one record, which replace the logger's of the same name. Nothing is copied: a busy hub
 * makes tens of thousands of records a second.
 */
export class GivenFields {
  readonly #logger: Fields
  readonly #record: Fields

  /** A plugin without types may give null. */
  constructor(logger: Fields, record: Fields | null | undefined) {
    this.#logger = logger
    this.#record = record ?? {}
  }

  of(name: string): unknown {
    return Object.hasOwn(this.#record, name) ? this.#record[name] : this.#logger[name]
  }

  /** In the order in which they were given, the logger's first. */
  each(take: (name: string, value: unknown) => void): void {
    for (const name in this.#logger) take(name, this.of(name))
    for (const name in this.#record) if (!Object.hasOwn(this.#logger, name)) take(name, this.#record[name])
  }
}
