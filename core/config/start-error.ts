import { faultWords } from '../domain/fault-words.ts'
/** Errors that prevent the hub from starting or running, with their exit codes. */
export const START_CODES = {
  usage: 2,
  env_invalid: 2,
  secret_too_short: 2,
  log_file_forbidden: 2,
  settings_json: 78,
  settings_duplicate: 78,
  settings_mode: 78,
  settings_newer: 78,
  store_missing: 78,
  store_newer: 78,
  backup_newer: 78,
  backup_key_missing: 78,
  backup_corrupt: 78,
  port_in_use: 1,
  bind_failed: 1,
  descriptors_short: 1,
  data_dir_locked: 1,
  database_locked: 1,
  data_dir_unwritable: 1,
  store_corrupt: 1,
  store_unavailable: 1,
  master_key_missing: 1,
  master_key_invalid: 1,
} as const satisfies Record<string, 1 | 2 | 78>

/** The codes of errors that end the start of a hub. */
export type StartCode = keyof typeof START_CODES

/** Ends the process with `exitCode`, after one line `error: <code>: <message>` on standard error. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly code: StartCode

  constructor(code: StartCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
  }

  get exitCode(): 1 | 2 | 78 {
    return START_CODES[this.code]
  }
}

/**
 * Runs work on the data folder or a file in it. File system errors are thrown as StartError data_dir_unwritable, which
 * names the path and the reason; other errors unchanged.
 */
export async function inDataDir<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error
    throw new StartError(
      'data_dir_unwritable',
      `Cannot use ${path} (${faultWords(error)}); see that the hub's user may read and write it and that the disk has room`,
      { cause: error },
    )
  }
}
