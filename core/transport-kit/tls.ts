import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'

/** TLS settings of one server; certificates and key in PEM. */
export interface TlsSettings {
  /** Certificates to trust instead of the system's. */
  readonly ca?: string
  /** The client's certificate, with its key. */
  readonly cert?: string
  readonly key?: string
  /** The name that the server's certificate must be for, instead of the address's. */
  readonly serverName?: string
  /** True: any certificate is taken. */
  readonly insecure?: boolean
}

/** Longest chain of certificates, in characters. */
const PEM_CHARACTERS = 65_536

const titled = (title: string, description: string, zhTitle: string, zhDescription: string): JsonObject => ({
  ...{ title, description },
  'x-zh': { title: zhTitle, description: zhDescription },
})

/** The JSON Schema of `tls`, for the form of a transport over HTTP. */
export const TLS_CONFIG_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  ...titled(
    'TLS',
    'For servers with a certificate of a private authority, or that ask for one of the client.',
    'TLS',
    '用于使用私有机构证书，或要求客户端证书的服务器。',
  ),
  properties: {
    ca: {
      ...{ type: 'string', format: 'certificates', maxLength: PEM_CHARACTERS },
      ...titled(
        'Trusted certificates',
        'PEM; trusted instead of the system’s.',
        '受信任的证书',
        'PEM 格式；代替系统的受信任证书。',
      ),
    },
    cert: {
      ...{ type: 'string', format: 'certificates', maxLength: PEM_CHARACTERS },
      ...titled(
        'Client certificate',
        'PEM, with its chain; needs the key.',
        '客户端证书',
        'PEM 格式，可含证书链；须同时填写私钥。',
      ),
    },
    key: {
      ...{ type: 'string', format: 'private-key', maxLength: PEM_CHARACTERS, writeOnly: true },
      ...titled('Client key', 'PEM, without a passphrase; sealed.', '客户端私钥', 'PEM 格式，无密码；加密保存。'),
    },
    serverName: {
      ...{ type: 'string', maxLength: 253, pattern: '^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$' },
      ...titled(
        'Server name',
        'The name that the certificate must be for, where it is not that of the address.',
        '服务器名称',
        '证书须匹配的名称（与地址中的名称不同时填写）。',
      ),
    },
    insecure: {
      ...{ type: 'boolean', default: false },
      ...titled(
        'Accept any certificate',
        'For administrators, and for tests: whoever is on the way can read and change everything.',
        '接受任何证书',
        '仅限管理员，用于测试：中间人可以读取并篡改全部内容。',
      ),
    },
  },
}

/** The settings in a server's `tls`, with the line breaks of its PEM texts restored; undefined if there are none. */
export function readTls(value: JsonValue | undefined): TlsSettings | undefined {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return undefined
  const { ca, cert, key, serverName, insecure } = value
  return {
    ...(typeof ca === 'string' && ca !== '' && { ca: withLines(ca) }),
    ...(typeof cert === 'string' && cert !== '' && { cert: withLines(cert) }),
    ...(typeof key === 'string' && key !== '' && { key: withLines(key) }),
    ...(typeof serverName === 'string' && serverName !== '' && { serverName }),
    ...(insecure === true && { insecure }),
  }
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----([A-Za-z0-9+/=\s]*)-----END \1-----/g

/** Restores the line breaks of PEM whose lines were joined, as by a form's field or an environment variable. */
export function withLines(pem: string): string {
  return pem.replaceAll('\\n', '\n').replace(BLOCK, (_, label: string, body: string) => {
    const lines = body.replace(/\s+/g, '').match(/.{1,64}/g) ?? []
    return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
  })
}

/** The PEM blocks of a text whose label ends like this, such as `CERTIFICATE` or `PRIVATE KEY`, as separate texts. */
export function pemBlocks(pem: string, label: string): readonly string[] {
  return [...withLines(pem).matchAll(BLOCK)].flatMap(([block, found]) => (found?.endsWith(label) ? [block] : []))
}
