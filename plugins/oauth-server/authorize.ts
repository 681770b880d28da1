import { HubError, type PluginContext } from 'patchbay/contract'
import { CLIENT_ROUTE } from './client-route.ts'
import type { Fail } from './errors.ts'
import { readRequest, type SealedRequests } from './requests.ts'
import { isSafe } from './site.ts'

/** Adds `/authorize`: checks the form of a request and leads to the page at which a signed-in person decides. */
export function addAuthorize({ routes, isLocal }: PluginContext<unknown>, requests: SealedRequests, fail: Fail): void {
  routes.add({
    method: 'GET',
    path: '/authorize',
    ...CLIENT_ROUTE,
    summary: 'Begin a sign-in of a client (RFC 6749, section 4.1.1)',
    answers: {
      302: { description: 'To the page of the console that asks. Never to the client' },
      400: { description: 'What is wrong with the request, shown as a page to browsers' },
    },
    handle({ search, baseUrl, headers }) {
      try {
        if (!isSafe(baseUrl, isLocal()))
          throw fail(
            'authorization_invalid',
            'This hub is reached without https, so that nobody can sign in for a client here',
          )
        const sealed = requests.seal(readRequest(search, baseUrl, fail))
        return { status: 302, headers: { location: `${baseUrl}/consent?request=${sealed}` } }
      } catch (error) {
        const isBrowser = /\btext\/html\b/.test(headers.accept ?? '')
        if (!isBrowser || !(error instanceof HubError)) throw error
        return { status: error.status, page: problemPage(error.message) }
      }
    },
  })
}

/** Without styles or scripts, which the content security policy forbids here. */
function problemPage(message: string): string {
  const text = message.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Sign-in not possible</title>
<h1>Sign-in not possible</h1><p>${text}.</p><p>Close this window and begin again in the program that opened it.</p></html>`
}
