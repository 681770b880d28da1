import type { MakePart } from 'patchbay/console'

/** The page of calls that wait for a person, and the rules of servers and groups. */
export const approvals: MakePart = ({ t }) => ({
  plugin: 'approvals',
  places: [
    {
      id: 'approvals',
      paths: ['/approvals', '/approvals/:id'],
      title: () => t('Approvals'),
      icon: 'hand',
      rail: 'watch',
      count: {
        ...{ path: '/api/approvals', query: { state: 'pending', limit: 0 }, member: 'waiting', events: 'approvals.' },
        label: count => t('{count} waiting for you', { count }),
      },
      element: 'pb-page-approvals',
      load: () => import('./page.ts'),
    },
  ],
  pieces: (['server-rules', 'group-rules'] as const).map(slot => ({
    slot,
    id: slot,
    title: () => t('Approvals'),
    page: 'approvals',
    element: 'pb-approval-rules',
    load: () => import('./rules.ts'),
  })),
})
