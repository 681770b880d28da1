import { t } from '../../text/t.ts'

/** Label of a hub setting; an unknown one is derived from its key: `trustedProxies` is "Trusted proxies". */
export function settingLabel(key: string): string {
  return labels()[key] ?? worded(key)
}

/** A function, since the words follow the language. */
function labels(): Readonly<Record<string, string>> {
  return {
    ...{ port: t('Port'), host: t('Host'), dataDir: t('Data folder'), settingsFile: t('Settings file') },
    ...{ publicUrl: t('Public URL'), basePath: t('Base path'), allowedHosts: t('Allowed hosts') },
    ...{ allowedOrigins: t('Allowed origins'), adminAddresses: t('Addresses for administration') },
    ...{ acceptLostSecrets: t('Accept lost secrets'), trustedProxies: t('Trusted proxies') },
    ...{ stdioPolicy: t('Who may run programs'), outboundAllow: t('Private addresses allowed') },
    ...{ httpProxy: t('Proxy for http'), httpsProxy: t('Proxy for https') },
    ...{ noProxy: t('Hosts without the proxy'), proxyNames: t('The proxy resolves all names') },
    ...{ registries: t('Package registries'), registriesCa: t('Certificates of the registries') },
    ...{ startTimeoutMs: t('Longest start of a server') },
    ...{ workers: t('Worker threads'), logLevel: t('Level of the log'), logFormat: t('Format of the log') },
    ...{ logFile: t('Log file'), requestLogs: t('Log every request'), logRotation: t('Rotation of the log file') },
    ...{
      logMaxSizeBytes: t('Largest log file'),
      logMaxFiles: t('Most log files'),
      logCompress: t('Compress log files'),
    },
    ...{
      logDatabase: t('Log in the database'),
      logRetentionMs: t('Log kept for'),
      historyMaxBytes: t('Largest history'),
    },
    ...{ logTable: t('Table of the log'), logIndexes: t('Indexes of the log'), syslogEnabled: t('Send to syslog') },
    ...{ syslogHost: t('Syslog host'), syslogPort: t('Syslog port'), syslogProtocol: t('Syslog protocol') },
    ...{ syslogCa: t('Syslog certificates'), syslogFacility: t('Syslog facility') },
    ...{ searchEngineIndex: t('Index of the search engine'), otelEndpoint: t('OpenTelemetry address') },
    ...{ otelServiceName: t('OpenTelemetry service name'), otelRatio: t('Share of traces that is kept') },
    ...{
      marketEnabled: t('Market'),
      marketUsers: t('Who may use the market'),
      marketOffline: t('Market without network'),
    },
    ...{ marketSourcesOff: t('Sources of the market that are off'), assistantEnabled: t('Assistants') },
    discoveryEnabled: t('Public groups are listed for strangers'),
  }
}

function worded(key: string): string {
  const words = key
    .replace(/Ms$|Bytes$/, '')
    .replace(/([A-Z])/g, ' $1')
    .toLowerCase()
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}
