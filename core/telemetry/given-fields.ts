type Fields = Readonly<Record<string, unknown>>

/**
 * The fields of a logger with those of one record, which replace the logger's of the same name. Nothing is copied: a busy hub
 * makes tens of thousands of records a second.
 */
export class GivenFields {
  readonly logger: Fields
  readonly record: Fields

  /** A plugin without types may give null. */
  constructor(logger: Fields, record: Fields | null | undefined) {
    this.logger = logger
    this.record = record ?? {}
  }

  of(name: string): unknown {
    return Object.hasOwn(this.record, name) ? this.record[name] : this.logger[name]
  }

  /** Whether the logger has a field of this name. */
  isLoggers(name: string): boolean {
    return Object.hasOwn(this.logger, name)
  }
}
