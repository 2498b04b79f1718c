// The login: a token, which lives as long as the tab and is only sent in a header of requests to
// this server.

const place = 'belay-token';

export const token = () => sessionStorage.getItem(place) || '';

export function setToken(secret) {
  if (secret) sessionStorage.setItem(place, secret);
  else sessionStorage.removeItem(place);
}
