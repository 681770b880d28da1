import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'
import { freePort } from './free-port.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

const PROGRAM = 'usr/sbin/rsyslogd'
const MODULES = `usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/rsyslog`
const TLS_MODULE = join(MODULES, 'lmnsd_gtls.so')

/** Ports and files of a rsyslogd; it can be stopped and started again. */
export interface Rsyslog extends AsyncDisposable {
  readonly udpPort: number
  readonly tcpPort: number
  /** Received messages, one object each. */
  received(): Promise<readonly Received[]>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A message as rsyslog understood it. */
export interface Received {
  readonly pri: string
  readonly host: string
  readonly app: string
  readonly proc: string
  readonly msgid: string
  readonly data: string
  readonly msg: string
}

/** Files of a TLS server. */
export interface TlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** A rsyslogd of Debian on 127.0.0.1 that writes received messages as JSON lines. Not started yet. `tls`: TCP uses TLS. */
export async function makeRsyslog(tls?: TlsFiles): Promise<Rsyslog> {
  const { folder: root, env } = await programs()
  const folder = await makeTemp('rsyslog')
  const drivers = tls
    ? `global(defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="${tls.ca}"
  defaultNetstreamDriverCertFile="${tls.cert}" defaultNetstreamDriverKeyFile="${tls.key}")`
    : ''
  const secured = tls ? ' streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon"' : ''
  const [udpPort, tcpPort] = [await freePort(), await freePort()]
  const field = (name: string, property: string): string =>
    `property(outname="${name}" name="${property}" format="jsonf")`
  const fields = [
    ...[field('pri', 'pri'), field('host', 'hostname'), field('app', 'app-name'), field('proc', 'procid')],
    ...[field('msgid', 'msgid'), field('data', 'structured-data'), field('msg', 'msg')],
  ].join(' constant(value=",") ')
  const input = (kind: string, port: number, more = ''): string =>
    `module(load="${kind}"${more})\ninput(type="${kind}" port="${port}" address="127.0.0.1" ruleset="all")`
  await writeFile(
    join(folder, 'rsyslog.conf'),
    `${drivers}
global(workDirectory="${folder}" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off")
template(name="json" type="list") { constant(value="{") ${fields} constant(value="}\\n") }
${input('imudp', udpPort)}
${input('imtcp', tcpPort, secured)}
ruleset(name="all") { action(type="omfile" file="${join(folder, 'out.log')}" template="json") }
`,
  )
  let child: Bun.Subprocess | undefined
  const stop = async (): Promise<void> => {
    child?.kill('SIGTERM')
    await child?.exited
    child = undefined
  }
  return {
    udpPort,
    tcpPort,
    async received() {
      const text = await readFile(join(folder, 'out.log'), 'utf8').catch(() => '')
      return text
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line) as Received)
    },
    async start() {
      const args = ['-n', '-f', join(folder, 'rsyslog.conf'), '-i', join(folder, 'pid'), '-M', join(root, MODULES)]
      const before = (await readFile(join(folder, 'pid'), 'utf8').catch(() => '')).trim()
      child = Bun.spawn([join(root, PROGRAM), ...args], { stdio: ['ignore', 'ignore', 'ignore'], cwd: folder, env })
      const { pid } = child
      await until(
        async () => (await readFile(join(folder, 'pid'), 'utf8')).trim() === String(pid) && before !== String(pid),
        {
          timeoutMs: 60_000,
          what: 'rsyslogd to run',
        },
      )
      await until(
        () => Bun.connect({ hostname: '127.0.0.1', port: tcpPort, socket: { data() {} } }).then(one => !one.end()),
        {
          what: 'rsyslogd to listen',
        },
      )
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await removeTemp(folder)
    },
  }
}

/** The installed programs, or those unpacked from Debian's packages. */
async function programs() {
  if ([PROGRAM, TLS_MODULE].every(path => existsSync(join('/', path)))) return { folder: '/', env: {} }
  return unpackedPrograms({
    name: 'rsyslog',
    packages: ['rsyslog', 'rsyslog-gnutls'],
    libraries: ['libestr0', 'libfastjson4', 'liblognorm5', 'libgnutls30'],
    programs: [PROGRAM, TLS_MODULE],
  })
}
