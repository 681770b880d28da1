import type { AroundProbe } from '../connections/sandbox/probe.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'

/** The parts of its process that a command may use. */
export interface CommandIo {
  /** All of standard input, as UTF-8 text. */
  stdin(): Promise<string>
  stdout(text: string): void
  stderr(text: string): void
  readonly env: Readonly<Record<string, string | undefined>>
  /** Redacts the keys that the hub generated, also from the crash message of the process. */
  readonly redactor: Redactor
  /** Holds the secrets of the running hub's servers. */
  readonly servers: ServerRedactors
  /** Absolute. */
  readonly cwd: string
  /** For a process that runs several hubs in turn. Default: each probes the sandbox of its machine. */
  readonly aroundProbe?: AroundProbe
}

/** The exports of a command's file. */
export interface CommandModule {
  /** Printed for `--help`, with a line feed at its end. */
  readonly help?: string
  /**
   * Resolves with the exit code: 0, or 1 when the command failed. Throws UsageError (2), StartError (its own code),
   * CommandError and HubError (1), which the caller prints.
   */
  run(argv: readonly string[], io: CommandIo): Promise<number>
}
