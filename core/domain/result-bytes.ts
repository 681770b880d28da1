const MiB = 1024 * 1024

/** Of one message of a server, and so of one result: `maxResultBytes` of the server, in bytes. */
export const RESULT_BYTES = { least: 1 * MiB, usual: 10 * MiB, most: 64 * MiB } as const
