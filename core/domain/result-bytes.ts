const MiB = 1024 * 1024

/** Limits of a server's `maxResultBytes`: bytes of one message, and so of one result. */
export const RESULT_BYTES = { least: 1 * MiB, usual: 10 * MiB, most: 64 * MiB } as const
