import { readFile } from 'node:fs/promises'
import { codeOf } from '../../config/atomic-write.ts'
import { HubError } from '../../contract/errors.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
/** The files in which distributions keep trusted certificates: Debian, Red Hat, Alpine. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const

/**
 * The certificates that an installation trusts where REGISTRIES_CA names a file: those in it and those of the system, since uv
 * takes a file in place of its own. Certificates alone: a file may hold its private key too, and every user's sandbox sees this.
 * Throws `spawn_failed`, without the path, which is no business of a server's owner.
 */
export async function registryCertificates(file: string): Promise<string> {
  const own = certificatesIn(await readFile(file, 'utf8').catch(unreadable))
  if (own.length === 0)
    throw new HubError('spawn_failed', 'The file that REGISTRIES_CA names holds no certificate in PEM')
  return `${[...new Set([...own, ...(await systemCertificates())])].join('\n')}\n`
}

/**
 * The variables by which installers, and what they start to build a package, take such a file. Node, Bun and Deno add it to
 * their own certificates, the others take it instead: npm in place of what its configuration names, and by SSL_CERT_FILE
 * uv and whatever uses OpenSSL.
 */
export function trustEnv(file: string): Record<string, string> {
  return {
    ...{ NODE_EXTRA_CA_CERTS: file, npm_config_cafile: file, DENO_CERT: file, SSL_CERT_FILE: file },
    ...{
      PIP_CERT: file,
      REQUESTS_CA_BUNDLE: file,
      CURL_CA_BUNDLE: file,
      GIT_SSL_CAINFO: file,
      CARGO_HTTP_CAINFO: file,
    },
  }
}

async function systemCertificates(): Promise<readonly string[]> {
  for (const file of SYSTEM_FILES) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text !== undefined) return certificatesIn(text)
  }
  return []
}

function certificatesIn(text: string): readonly string[] {
  return text.match(CERTIFICATE) ?? []
}

function unreadable(cause: unknown): never {
  throw new HubError('spawn_failed', `The file that REGISTRIES_CA names cannot be read: ${codeOf(cause)}`, { cause })
}
