import { html, nothing, svg, type TemplateResult } from 'lit'
import { ref } from 'lit/directives/ref.js'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { href, router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { groupOnlineButton } from '../../components/servers/group-online.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** Under this name Add server finds the text that was pasted here. */
const PASTED = 'patchbay.paste'

/** Greeting of a new user. */
export function greeting(): string {
  const name = session.user?.name ?? ''
  return t('Welcome, {name}', { name })
}

/** The page of a user without any servers or groups: what others share, a paste box, the four steps, and a preview of the result. */
export function newcomer(
  servers: readonly ServerRecord[],
  groups: readonly GroupRecord[],
  shared: unknown,
): TemplateResult {
  const sample = servers.find(({ name }) => name === 'sample')
  return html`<p class="lede">${t('Patchbay runs your MCP servers and hands them to your clients through one address. Five minutes, four steps; you can leave at any point.')}</p>
    <div class="g21 newc"><div class="stack">${shared ?? nothing}${paste()}${steps(sample, groups)}</div><div class="stack">${picture()}
      <p class="s q row">${icon('gauge')}<a href=${href('/', { tab: 'overview' })}>${t('Show the dashboard anyway')}</a></p></div></div>`
}

function paste(): TemplateResult {
  const handOver = (text: string): void => {
    if (text.trim() !== '') sessionStorage.setItem(PASTED, text)
    void router.go('/servers/new')
  }
  const go = (event: Event): void =>
    handOver((event.currentTarget as Element).closest('section')?.querySelector('textarea')?.value ?? '')
  // Text pasted into the empty box is read at once; that saves or starts nothing.
  const pasted = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData('text/plain') ?? ''
    if ((event.currentTarget as HTMLTextAreaElement).value !== '' || text.trim() === '') return
    event.preventDefault()
    handOver(text)
  }
  const read = async (event: Event): Promise<void> => {
    const input = event.currentTarget as HTMLInputElement
    const area = input.closest('section')?.querySelector('textarea')
    const file = input.files?.[0]
    if (file && area) area.value = await file.text()
  }
  return html`<section class="card first"><div class="ch"><h2>${icon('clipboard-paste')}${t('Paste what you have')}</h2><span class="r f xs wide">${t('JSON, a command or a URL')}</span></div>
    <div class="cb stack t"><label class="vh" for="paste">${t('Configuration, command line or URL')}</label><textarea id="paste" class="in code pastebox" rows="6" spellcheck="false" ${ref(focusFirst)} @paste=${pasted}
      placeholder=${'npx -y @modelcontextprotocol/server-memory\nhttps://mcp.example.com/mcp\nclaude_desktop_config.json, .cursor/mcp.json, .vscode/mcp.json'}></textarea>
      <div class="row wrap"><button type="button" class="btn pri" @click=${go}>${t('Read it')}${icon('arrow-right')}</button>
      <label class="btn filebtn">${icon('file-json')}${t('Choose a file')}<input type="file" class="vh" accept=".json,.toml,.yaml,.yml,.txt" @change=${read}></label>
      <span class="hint push">${t('Nothing is saved or started before you have seen it.')}</span></div></div></section>`
}

/** Focuses the box when the page appears, unless another field has the focus. */
function focusFirst(box: Element | undefined): void {
  const at = document.activeElement
  if (at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement) return
  // The router gives the focus to the page first.
  requestAnimationFrame(() => (box as HTMLElement | undefined)?.focus({ preventScroll: true }))
}

function steps(sample: ServerRecord | undefined, groups: readonly GroupRecord[]): TemplateResult {
  const works = sample?.status.state === 'online'
  const group = groups[0]
  const parts = [
    {
      done: true,
      title: t('Make your account'),
      text: session.isAdmin ? t('You are an administrator of this hub.') : t('You are signed in.'),
    },
    {
      done: works,
      title: t('Add a first server'),
      text: works
        ? t('The sample runs. Paste above to add your own.')
        : pluginPages.has('market')
          ? t('Paste above, or pick one from the market.')
          : t('Paste above.'),
      act: pluginPages.has('market')
        ? html`<a class="btn" href=${href('/market')}>${icon('store')}${t('Browse the market')}</a>`
        : undefined,
    },
    {
      done: false,
      title: t('Try one of its tools'),
      text: t('Fill in a form, see the answer. No client needed.'),
      act: sample
        ? html`<a class="btn" href=${href(`/servers/${encodeURIComponent(sample.ref ?? 'sample')}`, { tab: 'tools' })}>${icon('play')}${t('Try the sample')}</a>`
        : undefined,
    },
    {
      done: false,
      title: t('Connect a client'),
      text: t('Copy one snippet into Claude, Cursor or VS Code. The page notices when it connects.'),
      act: group
        ? html`<a class="btn" href=${href(`/groups/${encodeURIComponent(group.ref)}`, { connect: 'claude-desktop' })}>${icon('plug')}${t('Connect to {name}', { name: group.name })}</a>${works ? groupOnlineButton(false) : nothing}`
        : undefined,
    },
  ]
  const done = parts.filter(part => part.done).length
  const now = parts.findIndex(part => !part.done)
  return html`<section class="card"><div class="ch line"><h2>${t('First five minutes')}</h2><span class="r tn q">${t('{n} of {all} done', { n: done, all: parts.length })}</span></div>
    <ol class="check">${parts.map(
      (
        part,
        at,
      ) => html`<li><span class="no ${part.done ? 'done' : at === now ? 'now' : ''}">${part.done ? icon('check', { class: 's14', label: t('Done') }) : at + 1}</span>
        <div class=${part.done ? 'done-t' : ''}><h3>${part.title}</h3><p class="s q">${part.text}</p>${part.act ? html`<div class="row wrap mt">${part.act}</div>` : nothing}</div></li>`,
    )}</ol></section>`
}

function picture(): TemplateResult {
  const box = (x: number, y: number, width: number): unknown =>
    svg`<rect x=${x} y=${y} width=${width} height="34" rx="6"></rect>`
  const label = (x: number, y: number, text: string, cls = ''): unknown =>
    svg`<text class=${cls} x=${x} y=${y}>${text}</text>`
  const jack = (x: number, y: number, cls = ''): unknown => svg`<circle class=${cls} cx=${x} cy=${y} r="4"></circle>`
  return html`<section class="card baynew"><div class="ch"><h2>${t('Your patch bay')}</h2></div><div class="cb"><svg class="bayart" viewBox="0 0 300 236" role="img"
    aria-label=${t('Three clients on the left, one group in the middle, empty server places on the right. One cord hangs loose, next to the sample server.')}>
    <g class="ba-t">${label(2, 14, t('Clients'))}${label(118, 14, t('Group'))}${label(222, 14, t('Servers'))}</g>
    <g class="ba-n">${[28, 96, 164].map(y => svg`${box(1, y, 74)}${box(220, y, 78)}`)}</g><rect class="ba-g" x="112" y="90" width="72" height="46" rx="6"></rect>
    <g class="ba-l">${label(12, 49, 'Claude')}${label(12, 117, 'Cursor')}${label(12, 185, 'VS Code')}${label(124, 117, t('first'))}${label(234, 49, 'sample')}${label(234, 117, t('yours'), 'ba-f')}${label(234, 185, t('yours'), 'ba-f')}</g>
    <path class="ba-c" d="M184 108C202 116 196 84 203 66"></path><rect class="ba-p" x="-3.5" y="-9" width="7" height="11" rx="2" transform="translate(205 60) rotate(24)"></rect>
    <path class="ba-d" d="M75 113C94 118 92 118 112 113"></path><path class="ba-d" d="M184 113C200 118 204 118 220 113"></path><path class="ba-d" d="M184 118C204 124 200 185 220 181"></path>
    <g class="ba-j">${jack(75, 45)}${jack(75, 113)}${jack(75, 181)}${jack(112, 113)}${jack(184, 113)}${jack(220, 113)}${jack(220, 181)}</g>${jack(220, 45, 'ba-on')}${jack(184, 108, 'ba-on')}
    <text class="ba-cap" x="2" y="226">${t('Each step plugs in one cord.')}</text></svg></div></section>`
}
