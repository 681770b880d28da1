import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Key and certificate of a TLS server. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** An authority of a test's own, with its files in `folder`. Needs openssl. */
export class Authority {
  /** PEM of the authority, for clients that must trust it. */
  readonly certificate: string
  readonly file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.#openssl(
      ...['req', '-x509', ...KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', '/CN=Test CA'],
    )
    this.file = join(folder, 'ca.pem')
    this.certificate = readFileSync(this.file, 'utf8')
  }

  /** For these names, such as `DNS:up.example` or `IP:127.0.0.1`; with days below 0 it has expired. */
  issue(name: string, altNames: string, days = 30): Certificate {
    this.#openssl('req', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', '/CN=server')
    writeFileSync(join(this.#folder, 'ext'), `subjectAltName=${altNames}\n`)
    const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days), '-extfile', 'ext']
    this.#openssl('x509', '-req', '-in', `${name}.csr`, ...sign, '-out', `${name}.pem`)
    return this.#read(name)
  }

  /** A certificate that is signed only by itself. */
  selfSigned(name: string, altNames: string): Certificate {
    const names = ['-addext', `subjectAltName=${altNames}`]
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '30', '-subj', '/CN=self']
    this.#openssl('req', '-x509', ...KEY, ...files, ...names)
    return this.#read(name)
  }

  #read(name: string): Certificate {
    const read = (ending: string): string => readFileSync(join(this.#folder, `${name}.${ending}`), 'utf8')
    return { key: read('key'), cert: read('pem') }
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.#folder, stdio: 'pipe' })
  }
}
