import { problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'

/** Why an endpoint is not connected, or a step of its test failed, in the language of the page. */
export function faultText(code: string | undefined, message = ''): string {
  if (code === 'token_refused') return t('The platform refused the token.')
  if (code === 'endpoint_in_use') return t('Another connection uses the same address.')
  return code === undefined ? message : problemText({ code, message: message === '' ? code : message })
}
