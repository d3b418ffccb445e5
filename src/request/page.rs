//! The pages that stand in for an answer: errors and redirects (spec: config 9.5).
//!
//! The frame is httpd's, which scripts look for; the words are muster's own. Nothing from the
//! request goes in unescaped, and no version.

use crate::codec::escape::html;

/// What a page says.
#[derive(Debug, Default)]
pub struct Page<'a> {
    /// `404 Not Found`: status and reason phrase.
    pub title: &'a [u8],
    /// The reason phrase alone.
    pub heading: &'a [u8],
    /// Paragraphs of HTML.
    pub paragraphs: Vec<Vec<u8>>,
    /// ServerSignature's line, HTML.
    pub signature: Option<Vec<u8>>,
}

/// The content type of every page.
pub const CONTENT_TYPE: &[u8] = b"text/html; charset=iso-8859-1";

impl Page<'_> {
    /// The whole page.
    pub fn render(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(
            b"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n<title>",
        );
        html(&mut out, self.title);
        out.extend_from_slice(b"</title>\n</head><body>\n<h1>");
        html(&mut out, self.heading);
        out.extend_from_slice(b"</h1>\n");
        for paragraph in &self.paragraphs {
            out.extend_from_slice(b"<p>");
            out.extend_from_slice(paragraph);
            out.extend_from_slice(b"</p>\n");
        }
        if let Some(signature) = &self.signature {
            out.extend_from_slice(b"<hr>\n<address>");
            out.extend_from_slice(signature);
            out.extend_from_slice(b"</address>\n");
        }
        out.extend_from_slice(b"</body></html>\n");
        out
    }
}

/// A paragraph about a status for people who see it in a browser.
pub fn words(status: u16) -> &'static str {
    match status {
        400 => "The request is not one that this server can make sense of.",
        401 => {
            "This address is open to known users only, and the request named none or gave a wrong password."
        }
        403 => "Access to this address is not allowed.",
        404 => "There is nothing at this address on this server.",
        405 => "This address does not take requests of that kind.",
        408 => "The request took too long to arrive.",
        410 => "What was at this address has been taken away for good.",
        411 => "The request must say how long its content is.",
        412 => "A condition that the request made does not hold.",
        413 => "The request's content is larger than this server accepts here.",
        414 => "The address is longer than this server accepts.",
        415 => "This address does not take content of that type.",
        416 => "The part that was asked for does not exist.",
        417 => {
            "The request expects something that this server does not do; it knows 100-continue only."
        }
        421 => "The request came over a connection that is not meant for this host.",
        426 => "This address is served over another protocol only.",
        429 => "There were too many requests in a short time.",
        431 => "The header fields of the request are larger than this server accepts.",
        500 => "Something went wrong on this server, and the request could not be answered.",
        501 => "This server does not know how to do what the request asks for.",
        502 => "The server behind this one gave no usable answer.",
        503 => "The service is not available at the moment. Please try again in a while.",
        504 => "The server behind this one did not answer in time.",
        505 => "The request uses a version of HTTP that this server does not speak.",
        other if other < 400 => "What was asked for is at another address.",
        other if other < 500 => "The request could not be answered as it was made.",
        _ => "The server could not answer the request.",
    }
}

/// `The document is <a href="...">here</a>.`
pub fn link(location: &[u8]) -> Vec<u8> {
    let mut out = b"What was asked for is to be found <a href=\"".to_vec();
    html(&mut out, location);
    out.extend_from_slice(b"\">here</a>.");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_from_outside_is_escaped() {
        let page = Page {
            title: b"404 <b>",
            heading: b"<b>",
            paragraphs: vec![link(b"http://x/\"><script>")],
            signature: None,
        };
        let text = String::from_utf8(page.render()).unwrap();
        assert!(text.contains("<title>404 &lt;b&gt;</title>"));
        assert!(!text.contains("<script>") && !text.contains("<b>"));
        assert!(text.ends_with("</body></html>\n"));
    }
}
