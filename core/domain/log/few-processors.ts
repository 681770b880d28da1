/**
 * With this number of processors or fewer, nearly each call has to wait for other work; with more, it usually finds a free
 * processor. Work that can be delayed then takes a smaller share of the time.
 */
export const FEW_PROCESSORS = 2
