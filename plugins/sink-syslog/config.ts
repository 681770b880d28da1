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
    host: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({
        title: 'Host',
        description: 'Of the collector, by name or address. Without it nothing is sent.',
        'x-zh': { title: '主机', description: '收集器的主机名或地址；留空则不发送。' },
      }),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .default(514)
      .meta({
        title: 'Port',
        description: 'Usually 514, and 6514 with TLS.',
        'x-zh': { title: '端口', description: '通常为 514，使用 TLS 时为 6514。' },
      }),
    protocol: z
      .enum(['udp', 'tcp', 'tls'])
      .default('udp')
      .meta({
        title: 'Protocol',
        description: 'How records reach the collector.',
        'x-zh': { title: '协议', description: '记录发送到收集器的方式。' },
      }),
    facility: z
      .enum(Object.keys(FACILITIES) as [string, ...string[]])
      .default('local0')
      .meta({
        title: 'Facility',
        description: 'Under which the collector files the records.',
        'x-zh': { title: '设施', description: '收集器据此归类记录。' },
      }),
    caFile: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .meta({
        title: 'Certificates',
        description: 'A file of certificates (PEM) to trust instead of those of the system; with tls alone.',
        'x-zh': { title: '证书文件', description: '用以代替系统证书的受信任证书文件（PEM）；仅用于 tls。' },
      }),
  })
  .refine(({ caFile, protocol }) => caFile === undefined || protocol === 'tls', {
    path: ['caFile'],
    message: 'only with the protocol tls',
  })

/** Configuration by an administrator. */
export type SyslogConfig = z.infer<typeof syslogConfig>
