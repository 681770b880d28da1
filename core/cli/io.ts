import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'

/** What a command may touch of the process that runs it. */
export interface CommandIo {
  /** Everything that comes on standard input, as UTF-8 text. */
  stdin(): Promise<string>
  stdout(text: string): void
  stderr(text: string): void
  readonly env: Readonly<Record<string, string | undefined>>
  /** Learns the keys that a hub makes for itself, and takes them out of the last words of a process that dies of a fault. */
  readonly redactor: Redactor
  /** Holds the secrets of the servers of a hub that is run. */
  readonly servers: ServerRedactors
  /** Absolute. */
  readonly cwd: string
}

/** What the file of one command exports. */
export interface CommandModule {
  /** Printed for `--help`, with a line feed at its end. */
  readonly help?: string
  /**
   * Resolves with the exit code: 0, or 1 when what was asked for could not be done. Throws UsageError (2), StartError (its own
   * code), CommandError and HubError (1), which the caller prints.
   */
  run(argv: readonly string[], io: CommandIo): Promise<number>
}
