import { z } from 'zod'

/** The facilities of RFC 5424 that have a name, by their number. */
export const FACILITIES: Readonly<Record<string, number>> = {
  ...{
    kern: 0,
    user: 1,
    mail: 2,
    daemon: 3,
    auth: 4,
    syslog: 5,
    lpr: 6,
    news: 7,
    uucp: 8,
    cron: 9,
    authpriv: 10,
    ftp: 11,
  },
  ...{ local0: 16, local1: 17, local2: 18, local3: 19, local4: 20, local5: 21, local6: 22, local7: 23 },
}

/** The block of this plugin in the settings file; without a host nothing is sent. */
export const syslogConfig = z
  .strictObject({
    host: z.string().min(1).max(255).optional(),
    port: z.int().min(1).max(65_535).default(514),
    protocol: z.enum(['udp', 'tcp', 'tls']).default('udp'),
    facility: z.enum(Object.keys(FACILITIES) as [string, ...string[]]).default('local0'),
    /** A file of certificates (PEM) to trust instead of the system's. */
    caFile: z.string().min(1).max(4_096).optional(),
  })
  .refine(({ caFile, protocol }) => caFile === undefined || protocol === 'tls', {
    path: ['caFile'],
    message: 'only with the protocol tls',
  })

/** What an administrator configures. */
export type SyslogConfig = z.infer<typeof syslogConfig>
